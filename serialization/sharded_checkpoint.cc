#include "weft/serialization/sharded_checkpoint.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <random>

#include "weft/core/error.h"
#include "weft/graph/distributed/owned_state.h"
#include "weft/serialization/checkpoint_contents.h"
#include "weft/serialization/checkpoint_files.h"
#include "weft/serialization/files/atomic_file.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/files/temporary_files.h"
#include "weft/serialization/shard_names.h"
#include "weft/serialization/stale_shards.h"

namespace weft {
namespace {

namespace fs = std::filesystem;

/// The assignment of variables to shards: which rank writes which pieces, in which order. It is the
/// same on all ranks.
class ShardLayout {
 public:
  struct Piece {
    int rank = 0;
    std::uint64_t data = 0;  // number of the data record in the rank's file, from 1
  };
  struct Entry {
    VariableInfo info;
    std::vector<Piece> pieces;  // in the order of the variable's elements
    bool cut = false;           // true if the pieces come from OwnedState
  };

  ShardLayout(const std::vector<VariableInfo>& variables, const OwnedState& owned, int ranks);

  const std::vector<Entry>& entries() const { return entries_; }
  const Entry& entry(const std::string& name) const { return entries_[index_.at(name)]; }

 private:
  std::vector<Entry> entries_;
  std::map<std::string, std::size_t> index_;
};

std::uint64_t bytes_of(const VariableInfo& info) {
  return tensor_bytes(info.type.dtype, info.type.shape.constant());
}

ShardLayout::ShardLayout(const std::vector<VariableInfo>& variables, const OwnedState& owned,
                         int ranks) {
  std::vector<std::uint64_t> load(static_cast<std::size_t>(ranks), 0);
  std::vector<std::size_t> whole;
  for (const VariableInfo& info : variables) {
    index_.emplace(info.name, entries_.size());
    Entry& entry = entries_.emplace_back(Entry{info, {}, false});
    if (const auto cut = owned.partitions().find(info.name); cut != owned.partitions().end()) {
      for (int r = 0; r < ranks; ++r) {
        const auto [begin, end] = cut->second.ranges[static_cast<std::size_t>(r)];
        if (begin == end) continue;
        entry.pieces.push_back({r, 0});
        entry.cut = true;
        load[static_cast<std::size_t>(r)] +=
            static_cast<std::uint64_t>(end - begin) * dtype_size(info.type.dtype);
      }
    }
    if (!entry.cut) whole.push_back(entries_.size() - 1);
  }
  // Variables that all ranks have are assigned greedily, the largest first, to the rank with the
  // fewest bytes to write.
  std::stable_sort(whole.begin(), whole.end(), [&](std::size_t a, std::size_t b) {
    return bytes_of(entries_[a].info) > bytes_of(entries_[b].info);
  });
  for (const std::size_t i : whole) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += bytes_of(entries_[i].info);
    entries_[i].pieces.push_back({static_cast<int>(least - load.begin()), 0});
  }
  std::vector<std::uint64_t> count(static_cast<std::size_t>(ranks), 0);
  for (Entry& entry : entries_) {
    for (Piece& piece : entry.pieces) piece.data = ++count[static_cast<std::size_t>(piece.rank)];
  }
}

/// One rank's part of the work of saving a sharded checkpoint.
class ShardedSave {
 public:
  ShardedSave(const std::string& path, Session& session, const std::vector<Program>& programs,
              const SaveOptions& options)
      : path_(path),
        session_(session),
        world_(session.options().world),
        programs_(programs),
        options_(options),
        contents_(programs),
        owned_(session.owned_state()),
        layout_(contents_.variables(), owned_, world_.size()) {}

  void run() {
    std::string name;
    if (world_.first()) name = save_name(resolved_name(), next_save_number(path_));
    name = world_.broadcast(name);
    const FileFingerprint own = write_shard(shard(name, world_.rank()));
    const std::vector<std::string> marks =
        world_.gather({reinterpret_cast<const char*>(&own), sizeof own});
    if (world_.first()) {
      write_main(name, marks);
      remove_stale_shards(path_);
    }
    world_.barrier();
  }

 private:
  std::string resolved_name() const { return fs::path(follow_links(path_)).filename().string(); }
  std::string shard(const std::string& name, int rank) const {
    const auto count = static_cast<std::uint64_t>(world_.size());
    return (folder_of(follow_links(path_)) /
            shard_name(name, static_cast<std::uint64_t>(rank) + 1, count))
        .string();
  }

  FileFingerprint write_shard(const std::string& file) {
    std::vector<std::string> whole;
    for (const ShardLayout::Entry& entry : layout_.entries()) {
      if (!owned_.contains(entry.info.name)) whole.push_back(entry.info.name);
    }
    const TensorMap values = snapshot(session_, programs_, whole);
    ContainerWriter writer(file, path_);  // with the file mode of the checkpoint
    write_header(writer);
    DataList data;
    for (const ShardLayout::Entry& entry : layout_.entries()) {
      for (const ShardLayout::Piece& piece : entry.pieces) {
        if (piece.rank == world_.rank()) data.add(value(entry, values));
      }
    }
    data.write(writer);
    return writer.finish();
  }

  /// Returns the piece of a variable that this rank writes.
  Tensor value(const ShardLayout::Entry& entry, const TensorMap& values) const {
    if (entry.cut) return owned_.piece(entry.info.name);
    Tensor whole;
    if (owned_.contains(entry.info.name)) {  // an empty variable: no rank has a piece
      whole = Tensor::empty(entry.info.type.dtype, entry.info.type.shape.constant());
    } else {
      whole = values.at(entry.info.name);
    }
    check_value(entry.info, whole);
    return whole;
  }

  void write_main(const std::string& name, const std::vector<std::string>& marks) {
    v1::Shards shards;
    shards.set_name(name);
    for (int rank = 0; rank < world_.size(); ++rank) {
      FileFingerprint mark;
      std::memcpy(&mark, marks[static_cast<std::size_t>(rank)].data(), sizeof mark);
      check_seen(shard(name, rank), rank, mark);
      v1::Shard& out = *shards.add_shards();
      out.set_bytes(mark.bytes);
      out.set_crc(mark.crc);
    }
    ContainerWriter writer(path_);
    DataList data;
    const auto place = [&](const VariableInfo& info, v1::Variable& variable) {
      for (const ShardLayout::Piece& piece : layout_.entry(info.name).pieces) {
        v1::Piece& out = *variable.add_pieces();
        out.set_shard(static_cast<std::uint32_t>(piece.rank) + 1);
        out.set_data(piece.data);
      }
    };
    contents_.write(writer, data, place, options_);
    writer.add(RecordType::shards, message_bytes(shards));
    data.write(writer);
    writer.finish();
  }

  /// Throws IoError if rank 0 cannot read the shard that a rank wrote, because the checkpoint would
  /// be unreadable.
  void check_seen(const std::string& file, int rank, const FileFingerprint& mark) const {
    std::string why;
    try {
      if (Container(file).mark() == mark) return;
      why = "rank 0 reads a different file";
    } catch (const Error& e) {
      why = e.what();
    }
    throw IoError(
        fmt::format("\"{}\", which {} wrote, cannot be read by rank 0: {}; shards must be written "
                    "to a folder that all ranks share",
                    file, describe_rank(*world_.transport(), rank), why));
  }

  const std::string& path_;
  Session& session_;
  const World& world_;
  const std::vector<Program>& programs_;
  const SaveOptions& options_;
  const CheckpointContents contents_;
  const OwnedState& owned_;
  const ShardLayout layout_;
};

/// A small file that contains its own name and is removed by the destructor. The name is random, so
/// that a folder that is not shared cannot contain it by chance. Throws IoError.
class Probe {
 public:
  explicit Probe(const fs::path& folder)
      : name_(
            fmt::format("{:08x}{:08x}.weft-probe", std::random_device()(), std::random_device()())),
        path_((folder / name_).string()) {
    AtomicFile file(path_);
    file.write(name_.data(), name_.size());
    file.commit();
  }
  ~Probe() {
    std::error_code ignored;
    fs::remove(path_, ignored);
  }
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  const std::string& name() const { return name_; }

 private:
  std::string name_, path_;
};

/// Returns true if the folder of `path` contains the probe of this name and is writable.
bool sees_probe(const std::string& path, const std::string& name) {
  if (name.empty()) return false;
  try {
    const fs::path folder = folder_of(follow_links(path));
    return read_whole_file((folder / name).string()) == name && ::access(folder.c_str(), W_OK) == 0;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

void save_checkpoint_in_shards(const std::string& path, Session& session,
                               const std::vector<Program>& programs, const SaveOptions& options) {
  const World& world = session.options().world;
  if (world.size() == 1) return save_checkpoint(path, session, programs, options);
  if (parse_shard_name(fs::path(path).filename().string())) {
    throw ArgumentError(fmt::format(
        "\"{}\" cannot be a sharded checkpoint, because its name has the form of a shard name",
        path));
  }
  world.poison_on_error([&] { ShardedSave(path, session, programs, options).run(); });
}

bool ranks_share_folder(const std::string& path, const World& world) {
  if (world.size() == 1) return true;
  std::optional<Probe> probe;
  if (world.first()) {
    try {
      probe.emplace(folder_of(follow_links(path)));
    } catch (const IoError&) {  // the save itself will report the reason
    }
  }
  const std::string name = world.broadcast(probe ? probe->name() : "");
  const std::vector<std::string> seen = world.gather(sees_probe(path, name) ? "yes" : "");
  return std::none_of(seen.begin(), seen.end(), [](const std::string& s) { return s.empty(); });
}

std::uint64_t checkpoint_bytes(const std::string& path) { return CheckpointFiles(path).bytes(); }

}  // namespace weft
