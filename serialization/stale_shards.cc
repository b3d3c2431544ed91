#include "weft/serialization/stale_shards.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>
#include <vector>

#include "weft/core/error.h"
#include "weft/serialization/checkpoint_files.h"
#include "weft/serialization/files/temporary_files.h"
#include "weft/serialization/shard_names.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

/// The files in the folder of a checkpoint.
struct Listing {
  struct Shard {
    fs::path path;
    std::string save;
    std::uint64_t number = 0;
    bool temporary = false;  // if true, `path` is the intended final path
  };
  std::vector<Shard> shards;     // shards of this checkpoint
  std::vector<fs::path> others;  // other files, which may be checkpoints
  bool complete = true;          // false if the folder could not be listed completely
};

Listing list(const std::string& checkpoint) {
  const fs::path file = follow_links(checkpoint);
  const std::string name = file.filename().string();
  const fs::path folder = folder_of(file);
  Listing result;
  result.complete = for_each_name(folder, [&](const std::string& found) {
    const std::optional<std::string> target = target_of_temporary(found);
    const std::optional<ShardName> shard = parse_shard_name(target.value_or(found));
    const auto number = shard ? parse_save_name(name, shard->save) : std::nullopt;
    if (number) {
      result.shards.push_back(
          {folder / target.value_or(found), shard->save, *number, target.has_value()});
    } else if (!target) {
      result.others.push_back(folder / found);
    }
  });
  return result;
}

}  // namespace

bool is_shard(const std::string& path) {
  try {
    return find_record(Container(path), RecordType::variables) == nullptr;
  } catch (const Error&) {
    return false;
  }
}

std::uint64_t next_save_number(const std::string& path) {
  std::uint64_t last = 0;
  for (const Listing::Shard& shard : list(path).shards) last = std::max(last, shard.number);
  return last + 1;
}

void remove_stale_shards(const std::string& path) {
  const Listing found = list(path);
  if (found.shards.empty() || !found.complete) return;
  std::set<std::string> named;
  for (const fs::path& other : found.others) {
    std::error_code error;
    const bool regular = fs::is_regular_file(other, error);
    if (!regular && (!error || error == std::errc::no_such_file_or_directory)) continue;
    try {
      named.insert(name_of_shards(other.string()));
    } catch (const FormatError&) {  // not a checkpoint, or damaged and therefore unreadable
    } catch (const Error&) {
      return;
    }
  }
  for (const Listing::Shard& shard : found.shards) {
    if (named.contains(shard.save)) continue;
    std::error_code error;
    if (shard.temporary) {
      remove_stale_files(shard.path.string());
    } else if (is_shard(shard.path.string())) {  // a model file may have the name of a shard
      fs::remove(shard.path, error);
    }
  }
}

}  // namespace weft
