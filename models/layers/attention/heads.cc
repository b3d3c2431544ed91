#include "weft/models/layers/attention/heads.h"

#include <limits>

#include "weft/graph/functions.h"

namespace weft {

Value split_heads(Value x, std::int64_t heads) {
  const Dim size = exact_div(x.size(2), Dim(heads));
  return permute(reshape(x, {x.size(0), x.size(1), heads, size}), {0, 2, 1, 3});
}

Value join_heads(Value x) {
  return reshape(permute(x, {0, 2, 1, 3}), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

Value consecutive_positions(Value position, const Dim& count) {
  const Value steps = iota(position.graph(), {count}, 0, DType::i64);
  return steps + (position.rank() == 0 ? position : unsqueeze(position, 1));
}

Value write_to_cache(Value cache, Value added, Value position, Value rows, bool circular) {
  return tensor_scatter(cache, added, position, {.axis = 2, .rows = rows, .circular = circular});
}

Value position_differences(Graph& graph, const Dim& length) {
  return iota(graph, {length, length}, 0, DType::i64) -
         iota(graph, {length, length}, 1, DType::i64);
}

Value additive_padding_mask(Value mask, DType dtype) {
  const double lowest = dtype == DType::f64 ? std::numeric_limits<double>::lowest()
                                            : std::numeric_limits<float>::lowest();
  const Value x = reshape(cast(mask, dtype), {mask.size(0), 1, 1, mask.size(1)});
  return (1 - x) * lowest;
}

}  // namespace weft
