// What the files of checkpoints in shards are called.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weft {

/// The most shards that a checkpoint can have, and the most bytes of a save's name.
inline constexpr std::uint64_t kMaxShards = 99'999;
inline constexpr std::size_t kMaxShardedName = 255;

/// "net-3-00002-of-00005.weft": shard `index`, counted from 1, of the save "net-3".
std::string shard_name(std::string_view save, std::uint64_t index, std::uint64_t count);

/// What a file name says that shard_name() made. None of any other name.
struct ShardName {
  std::string save;
  std::uint64_t index = 0, count = 0;
};
std::optional<ShardName> parse_shard_name(std::string_view name);

/// The saves of one checkpoint are numbered, so that no save writes over the files of another:
/// "net-3" is the third of "net.weft".
std::string save_name(std::string_view checkpoint, std::uint64_t number);
/// The number of a save of that checkpoint. None of any other name.
std::optional<std::uint64_t> parse_save_name(std::string_view checkpoint, std::string_view name);

}  // namespace weft
