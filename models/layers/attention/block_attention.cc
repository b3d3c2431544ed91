#include "weft/models/layers/attention/block_attention.h"

#include "weft/graph/functions.h"
#include "weft/models/layers/attention/heads.h"
#include "weft/models/layers/attention/merged_attention.h"

namespace weft {

BlockAttentionOutputs block_attention(const MultiHeadAttention& layer, Value x, Value globals,
                                      const BlockAttentionOptions& options, SourceLocation loc) {
  Graph& graph = x.graph();
  Graph::Frame frame(graph, "block_attention", loc, layer.scope.path());
  const Dim &batch = x.size(0), &length = x.size(1);
  const Value q = split_heads(layer.query(x), layer.heads);
  const Value global_q = split_heads(layer.query(globals), layer.heads);
  const KeyValues tokens = layer.key_values(x), global = layer.key_values(globals);
  const AttentionOptions plain{
      .scale = layer.scale, .dropout = options.dropout, .key = options.dropout_key};
  // Returns the mask of the keys, bool [batch or 1, 1, 1, keys], after `shift` keys that nothing
  // attends to. Undefined if all keys are visible.
  const auto visible = [&](std::int64_t shift) {
    const Dim keys = length + shift;
    if (options.mask.defined()) {
      const Value tokens = cast(not_equal(options.mask, 0), DType::i32);
      return reshape(not_equal(pad(tokens, {{0, 0}, {shift, 0}}), 0), {batch, 1, 1, keys});
    }
    if (shift == 0) return Value();
    return reshape(iota(graph, {keys}, 0, DType::i64) >= shift, {1, 1, 1, keys});
  };

  // Blocks are chunks. Keys before the first token shift them.
  const std::int64_t shift = options.shift;
  AttentionOptions local = plain;
  local.chunk = options.block;
  local.mask = visible(shift);
  KeyValues keys = tokens;
  if (shift > 0) {
    const auto shifted = [&](const Value& v) {
      return pad(v, {{0, 0}, {0, 0}, {shift, 0}, {0, 0}});
    };
    keys = {shifted(tokens.keys), shifted(tokens.values)};
    local.q_start = full(graph, DType::i64, {batch}, static_cast<double>(shift));
  }
  const Value attended = merged_attention(attention_with_lse(q, keys.keys, keys.values, local),
                                          attention_with_lse(q, global.keys, global.values, plain));

  AttentionOptions whole = plain;
  whole.mask = visible(0);
  const Value global_attended =
      merged_attention(attention_with_lse(global_q, tokens.keys, tokens.values, whole),
                       attention_with_lse(global_q, global.keys, global.values, plain));
  return {layer.out(join_heads(attended)), layer.out(join_heads(global_attended))};
}

}  // namespace weft
