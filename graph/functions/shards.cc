#include "weft/graph/functions/shards.h"

#include <fmt/format.h>

#include <string>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"

namespace weft {

Value shard_sum(Arg x) {
  const Value v = x.value("shard_sum");
  return v.graph().apply("shard_sum", {v}, {}, x.location()).output(0);
}

Value shard_concat(Arg x) {
  const Value v = x.value("shard_concat");
  Graph& graph = v.graph();
  if (v.rank() == 0)
    graph.fail(ShapeError("a scalar has no rows"), "shard_concat", {v}, x.location());
  std::string name = "shard_rows";
  for (int i = 1; graph.find_symbol(name) != nullptr; ++i) name = fmt::format("shard_rows{}", i);
  const Dim rows = graph.dim(name);
  graph.require(rows == v.size(0), x.location());
  return shard_concat_as(rows, x);
}

Value shard_concat_as(const Dim& rows, Arg x) {
  const Value v = x.value("shard_concat");
  return v.graph().apply("shard_concat", {v}, {{"rows", rows}}, x.location()).output(0);
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
