#include "weft/models/training/gathered_rows.h"

#include <fmt/format.h>

#include <numeric>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/functions/shards.h"
#include "weft/graph/ir/graph.h"

namespace weft {

Value gathered_rows(Value x, Value rows, std::int64_t batch, SourceLocation loc) {
  constexpr const char* kName = "gathered_rows";
  Graph& graph = x.graph();
  if (batch < 1) {
    graph.fail(ArgumentError(fmt::format("the batch must have at least 1 row, not {}", batch)),
               kName, {x}, loc);
  }
  if (x.rank() < 1 || rows.rank() != 1 || !graph.facts().equal(rows.size(0), x.size(0))) {
    graph.fail(ShapeError(fmt::format("rows must be i64 [n] for x [n, ...], but are {} for {}",
                                      rows.type().str(), x.type().str())),
               kName, {x, rows}, loc);
  }
  Shape all = x.shape();
  all[0] = Dim(batch);
  // Every shard adds its own rows to zeros, so that the sum over the shards has the same bits.
  return shard_sum(index_add(zeros(graph, x.dtype(), all), rows, x));
}

Tensor row_positions(const RowRange& rows) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(rows.size()));
  std::iota(positions.begin(), positions.end(), rows.begin);
  return Tensor::of({rows.size()}, positions);
}

}  // namespace weft
