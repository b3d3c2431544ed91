// Recognition of shards, and removal of shards to which no checkpoint refers any more.
#pragma once

#include <cstdint>
#include <string>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns the number for a new sharded save of `path`. It is larger than the numbers of all
/// existing shards of `path`, so that none of them is overwritten.
std::uint64_t next_save_number(const std::string& path);

/// Returns true if the file is a shard of a sharded checkpoint. Returns false for checkpoints and
/// for all other files, including files that cannot be read.
bool is_shard(const std::string& path);

/// Removes the shards of `path` to which no checkpoint in the same folder refers. Saves that were
/// replaced or interrupted leave such shards; temporary files of interrupted saves are also
/// removed. Must not be called during a save of `path`. Copies of checkpoints and earlier
/// checkpoints under other names keep their shards. Never throws; files that cannot be removed are
/// kept. If any file that might be a checkpoint cannot be read, no shard is removed. A model file
/// whose name only has the form of a shard name is not removed.
void remove_stale_shards(const std::string& path);

}  // namespace weft
