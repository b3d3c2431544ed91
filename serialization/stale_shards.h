// The shards beside a checkpoint that no checkpoint names.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

/// The number of a new save of `path` in shards: above those of all that lie there, so that it
/// writes over none of them.
std::uint64_t next_save_number(const std::string& path);

/// Removes shards of `path` that none of the checkpoints beside them names, as saves leave them
/// that were replaced or did not end; also what was left behind of files that were not whole. To be
/// called when no save of `path` is under way. Copies and earlier checkpoints of another name keep
/// their shards. Throws nothing: what cannot be removed stays, and all do where a file cannot be
/// read that may name them. Nor goes what is only called as a shard is, and holds a model.
void remove_stale_shards(const std::string& path);

}  // namespace weft
