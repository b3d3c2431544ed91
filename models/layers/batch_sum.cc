#include "weft/models/layers/batch_sum.h"

#include "weft/core/error.h"
#include "weft/graph/functions/shards.h"

namespace weft {

Value batch_sum(Value sum, Reduction reduction, SourceLocation loc) {
  if (reduction == Reduction::mean) return sum;
  if (reduction != Reduction::shard_mean) {
    sum.graph().fail(ArgumentError("the reduction of a loss with weighted elements must be "
                                   "Reduction::mean or Reduction::shard_mean"),
                     "batch_sum", {sum}, loc);
  }
  return shard_sum(Arg(sum, loc));
}

}  // namespace weft
