// Sums of a training loss: over the local batch, or over all shards of a batch.
#pragma once

#include "weft/graph/functions/loss.h"

namespace WEFT_API weft {

/// Sums for losses with weighted elements. With Reduction::mean, returns `sum` itself, the sum over
/// the local rows; with Reduction::shard_mean, returns the sum over all shards of the batch. Throws
/// ArgumentError for other reductions. Usage:
///   batch_sum(sum(each * weights), reduction) / batch_sum(sum(weights), reduction)
Value batch_sum(Value sum, Reduction reduction, SourceLocation loc = SourceLocation::current());

}  // namespace weft
