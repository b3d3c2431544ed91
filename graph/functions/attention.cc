#include "weft/graph/functions/attention.h"

#include <algorithm>
#include <cmath>

namespace weft {

AttentionResult attention_with_lse(Arg q, Arg k, Arg v, const AttentionOptions& options) {
  const Value query = q.value("attention"), keys = k.value("attention"),
              values = v.value("attention");
  Graph& graph = query.graph();
  double scale = options.scale.value_or(1);
  if (!options.scale.has_value()) {
    if (query.rank() != 4 || !query.size(-1).is_constant()) {
      graph.fail(ShapeError("without a scale, q must be [batch, heads, queries, features] with a "
                            "constant number of features"),
                 "attention", {query, keys, values}, q.location());
    }
    // With 0 features all products are 0 for any scale, but the scale must be finite.
    scale =
        1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(query.size(-1).constant(), 1)));
  }
  const bool drops = options.dropout != 0;
  Node& node =
      graph.apply("attention",
                  {query, keys, values, options.bias.value(), options.mask.value(),
                   options.offset_bias.value(), options.row_bias.value(), options.row_index.value(),
                   options.col_bias.value(), options.col_index.value(), options.lengths.value(),
                   options.q_start.value(), drops ? options.key.value() : Value(),
                   options.kv_rows.value(), options.sinks.value(), options.offsets.value()},
                  {{"scale", scale},
                   {"causal", options.causal},
                   {"window", options.window},
                   {"dropout", options.dropout},
                   {"stream", drops ? graph.next_stream() : std::int64_t{0}},
                   {"soft_cap", options.soft_cap},
                   {"chunk", options.chunk},
                   {"ring", options.ring.value_or(Dim(0))}},
                  q.location());
  return {node.output(0), node.output(1)};
}

Value attention(Arg q, Arg k, Arg v, const AttentionOptions& options) {
  return attention_with_lse(q, k, v, options).out;
}

Value rope(Arg x, Arg positions, const RopeOptions& options) {
  const Value v = x.value("rope"), p = positions.value("rope");
  Graph& graph = v.graph();
  if (!options.rotary_dim.has_value() && (v.rank() != 4 || !v.size(-1).is_constant())) {
    graph.fail(
        ShapeError("without rotary_dim, x must be [batch, heads, length, features] with a constant "
                   "number of features"),
        "rope", {v, p}, x.location());
  }
  const std::int64_t rotary =
      options.rotary_dim.has_value() ? *options.rotary_dim : v.size(-1).constant();
  return graph
      .apply("rope", {v, p},
             {{"rotary_dim", rotary},
              {"base", options.base},
              {"adjacent", options.adjacent},
              {"inverse", options.inverse}},
             x.location())
      .output(0);
}

}  // namespace weft
