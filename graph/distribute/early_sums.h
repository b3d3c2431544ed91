// Early versions of sums over shards that are nearly complete long before the shard ends.
#pragma once

#include "weft/core/export.h"
#include "weft/graph/distribute/split_shards.h"

namespace WEFT_API weft {

/// If the last operations of a stage's sum i only add to a few of its elements, makes the value
/// before them an output of the stage, early(i), so that most of the sum can be sent while the rest
/// of the shard is running. An example is the index_add to the gradient of an embedding table that
/// a matrix product reads too. The early value takes as much memory as the sum. Sums below 1 MiB
/// are skipped, because sending them takes less time than the additional messages.
void add_early_sums(ShardedProgram& parts);

}  // namespace weft
