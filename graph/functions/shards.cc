#include "weft/graph/functions/shards.h"

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"

namespace weft {

Value shard_sum(Arg x) {
  const Value v = x.value("shard_sum");
  return v.graph().apply("shard_sum", {v}, {}, x.location()).output(0);
}

Value shard_mean(Arg sum, Arg count) {
  const Value v = sum.value("shard_mean"), n = count.value("shard_mean");
  const Graph::Frame frame(v.graph(), "shard_mean", sum.location());
  return shard_sum(v) / cast(shard_sum(n), v.dtype());
}

Value shard_mean(Arg x) {
  const Value v = x.value("shard_mean");
  const Graph::Frame frame(v.graph(), "shard_mean", x.location());
  return shard_sum(v) / shard_sum(v.graph().scalar(v.dtype(), 1, x.location()));
}

}  // namespace weft
