// What a training loss is the mean over: a batch, or all shards of one.
#pragma once

#include "weft/graph/functions/loss.h"

namespace WEFT_API weft {

/// For losses whose elements weigh differently: with Reduction::mean `sum` itself, which is of the
/// rows at hand, with Reduction::shard_mean the sum over all shards of a batch. Throws
/// ArgumentError for other reductions.
///   batch_sum(sum(each * weights), reduction) / batch_sum(sum(weights), reduction)
Value batch_sum(Value sum, Reduction reduction, SourceLocation loc = SourceLocation::current());

}  // namespace weft
