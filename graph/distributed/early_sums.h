// Early versions of sums over shards that are nearly complete long before the shard ends.
#pragma once

#include "weft/core/export.h"
#include "weft/graph/distributed/split_shards.h"

namespace WEFT_API weft {

/// If the last operations of a stage's sum i only add to a few of its elements, adds the value
/// before these operations to the outputs of the stage as early(i). Most of the sum can then be
/// sent while the rest of the shard is computed. An example is the index_add to the gradient of an
/// embedding table that is also an operand of a matrix product. The early value needs the same
/// amount of memory as the sum. Sums below 1 MiB are skipped, because sending them takes less time
/// than the additional messages.
void add_early_sums(ShardedProgram& parts);

}  // namespace weft
