// Sums over shards of which most is known long before the rest.
#pragma once

#include "weft/core/export.h"
#include "weft/graph/distribute/split_shards.h"

namespace WEFT_API weft {

/// What a stage's sum i is before something is added to few of its elements (index_add to the
/// gradient of a table that a product reads, too) becomes an output of the stage, early(i): most of
/// the sum can be sent while the rest of the shard runs. It costs as much memory as the sum. For
/// sums of 1 MiB or more: smaller ones are sent in less time than more messages take.
void add_early_sums(ShardedProgram& parts);

}  // namespace weft
