// File names of sharded checkpoints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Maximum number of shards of a checkpoint, and maximum length in bytes of the name of a save.
inline constexpr std::uint64_t kMaxShards = 99'999;
inline constexpr std::size_t kMaxShardedName = 255;

/// Returns the file name of shard `index` (from 1) of a save: "net-3-00002-of-00005.weft" for shard
/// 2 of the save "net-3".
std::string shard_name(std::string_view save, std::uint64_t index, std::uint64_t count);

/// The parts of a shard's file name.
struct ShardName {
  std::string save;
  std::uint64_t index = 0, count = 0;
};
/// Parses a name that shard_name() returned. Returns nullopt for other names.
std::optional<ShardName> parse_shard_name(std::string_view name);

/// Returns the name of a save. The saves of one checkpoint are numbered, so that no save overwrites
/// the files of another: "net-3" is the third save of "net.weft".
std::string save_name(std::string_view checkpoint, std::uint64_t number);
/// Returns the number of a save of `checkpoint`, or nullopt if `name` is not the name of one.
std::optional<std::uint64_t> parse_save_name(std::string_view checkpoint, std::string_view name);

}  // namespace weft
