// Attention operators of com.microsoft.
#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/attention.h"
#include "weft/serialization/onnx/import/operators/numeric.h"

namespace weft::onnx {
namespace {

/// Adds `b` to an optional operand.
Value sum_of_biases(OptionalArg a, Value b) { return a.present() ? a.value() + b : b; }

/// Adds `filter` to the scores of keys that a mask of Attention or MultiHeadAttention excludes.
/// The mask is i32: the number of valid keys [B], the ends and then the beginnings of the valid
/// keys [2 B], or positive numbers for valid keys, [B, Lk] or [B, Lq, Lk].
void add_key_mask(NodeImport& n, AttentionOptions& options, Value mask, Value q, Value k) {
  const double filter = n.real("mask_filter_value", -10000);
  if (!mask.defined()) return;
  const Dim batch = q.size(0), keys = k.size(2);
  Value valid;
  if (mask.rank() == 1) {
    const DimFacts& facts = n.graph().facts();
    const bool both = facts.equal(mask.size(0), Dim(2) * batch);
    if (!both && !facts.equal(mask.size(0), batch))
      n.unsupported(fmt::format("a mask {} for a batch of {}", mask.type().str(), batch.str()));
    const Shape column{batch, Dim(1)};
    const Value index = arange(n.graph(), keys, mask.dtype());
    valid = index < reshape(both ? slice(mask, 0, Slice{Dim(0), batch}) : mask, column);
    if (both) {
      valid = logical_and(valid,
                          index >= reshape(slice(mask, 0, Slice{batch, Dim(2) * batch}), column));
    }
  } else if (mask.rank() == 2 || mask.rank() == 3) {
    valid = mask > 0;
  } else {
    n.unsupported(fmt::format("a mask of {} axes", mask.rank()));
  }
  if (valid.rank() == 2) valid = unsqueeze(valid, 1);
  valid = aligned_scores(unsqueeze(valid, 1), q, k);
  const Value zero = zeros(n.graph(), q.dtype(), Shape{});
  options.bias = sum_of_biases(options.bias, where(valid, zero, filter));
}

void add_attention_bias(AttentionOptions& options, Value bias, Value q, Value k) {
  if (bias.defined()) options.bias = aligned_scores(widened(bias), q, k);
}

void set_scale(NodeImport& n, AttentionOptions& options) {
  // 0 means the default.
  if (const double scale = n.real("scale", 0); scale != 0) options.scale = scale;
}

/// Requires that an attribute has the value that changes nothing.
void require_attribute(NodeImport& n, std::string_view name, std::int64_t value) {
  const std::int64_t given = n.integer(name, value);
  if (given != value) n.unsupported(fmt::format("{} = {}", name, given));
}

std::vector<ImportedValue> microsoft_attention(NodeImport& n) {
  const DType dtype = n.input(0).dtype();
  const std::int64_t heads = n.integer("num_heads");
  require_attribute(n, "do_rotary", 0);
  require_attribute(n, "past_present_share_buffer", 0);
  n.skip_attribute("rotary_embedding_dim");
  const Value x = widened(n.input(0)), weights = widened(n.input(1)), bias = widened(n.optional(2));
  if (x.rank() != 3 || weights.rank() != 2)
    throw FormatError(fmt::format("the input must have 3 axes, but is {}", x.type().str()));
  std::vector<Dim> sizes;
  if (const auto given = n.integers("qkv_hidden_sizes")) {
    if (given->size() != 3) throw FormatError("qkv_hidden_sizes must have 3 elements");
    sizes.assign(given->begin(), given->end());
  } else {
    sizes.assign(3, exact_div(weights.size(1), Dim(3)));
  }
  Value projected = matmul(x, weights);
  if (bias.defined()) projected = projected + bias;
  const auto parts = split(projected, sizes, 2);
  const Value q = split_heads(parts[0], heads);
  Value k = split_heads(parts[1], heads), v = split_heads(parts[2], heads);
  Dim past(0);
  if (const Value earlier = widened(n.optional(4)); earlier.defined()) {
    past = earlier.size(3);
    k = concat({select(earlier, 0, Dim(0)), k}, 2);
    v = concat({select(earlier, 0, Dim(1)), v}, 2);
  }
  AttentionOptions options;
  set_scale(n, options);
  if (n.flag("unidirectional")) mask_future_keys(options, q, k, past);
  add_attention_bias(options, n.optional(5), q, k);
  add_key_mask(n, options, n.optional(3), q, k);
  std::vector<ImportedValue> results{cast(merge_heads(attention(q, k, v, options)), dtype)};
  if (n.wants(1)) results.emplace_back(cast(stack({k, v}, 0), dtype));
  return results;
}

std::vector<ImportedValue> multi_head_attention(NodeImport& n) {
  const DType dtype = n.input(0).dtype();
  const std::int64_t heads = n.integer("num_heads");
  Value q = widened(n.input(0)), k = widened(n.optional(1)), v = widened(n.optional(2));
  if (q.rank() == 5) {  // [B, L, H, 3, D]
    const Value packed = permute(q, {3, 0, 2, 1, 4});
    q = select(packed, 0, Dim(0));
    k = select(packed, 0, Dim(1));
    v = select(packed, 0, Dim(2));
  } else if (k.defined() && k.rank() == 5) {  // [B, L, H, 2, D]
    const Value packed = permute(k, {3, 0, 2, 1, 4});
    q = split_heads(q, heads);
    k = select(packed, 0, Dim(0));
    v = select(packed, 0, Dim(1));
  } else {
    if (!k.defined() || !v.defined())
      n.unsupported("a query that is not packed, without key and value");
    q = split_heads(q, heads);
    if (k.rank() == 3) k = split_heads(k, heads);
    if (v.rank() == 3) v = split_heads(v, heads);
  }
  if (const Value bias = widened(n.optional(3)); bias.defined()) {
    const Dim hidden = q.size(1) * q.size(3);
    const auto parts = split(bias, {hidden, hidden, v.size(1) * v.size(3)}, 0);
    const auto add_bias = [&](Value x, Value b) {
      return x + reshape(b, Shape{x.size(1), Dim(1), x.size(3)});
    };
    q = add_bias(q, parts[0]);
    k = add_bias(k, parts[1]);
    v = add_bias(v, parts[2]);
  }
  Dim past(0);
  if (n.has(6) != n.has(7)) n.unsupported("only one of past_key and past_value");
  if (n.has(6)) {
    const Value keys = widened(n.input(6));
    past = keys.size(2);
    k = concat({keys, k}, 2);
    v = concat({widened(n.input(7)), v}, 2);
  }
  AttentionOptions options;
  set_scale(n, options);
  if (n.flag("unidirectional")) mask_future_keys(options, q, k, past);
  add_attention_bias(options, n.optional(5), q, k);
  add_key_mask(n, options, n.optional(4), q, k);
  if (n.wants(3)) n.unsupported("the output qk");
  return {cast(merge_heads(attention(q, k, v, options)), dtype), cast(k, dtype), cast(v, dtype)};
}

std::vector<ImportedValue> group_query_attention(NodeImport& n) {
  const DType dtype = n.input(0).dtype();
  const std::int64_t heads = n.integer("num_heads"), kv_heads = n.integer("kv_num_heads");
  for (const std::int64_t count : {heads, kv_heads}) {
    if (count < 1 || count >= std::int64_t{1} << 31)
      throw FormatError(fmt::format("the numbers of heads must be positive, but one is {}", count));
  }
  require_attribute(n, "causal", 1);
  require_attribute(n, "sliding_window_cache", 0);
  require_attribute(n, "qk_output", 0);
  for (const std::string_view name : {"k_quant_type", "v_quant_type"}) {
    if (n.text(name, "NONE") != "NONE") n.unsupported(fmt::format("{}", name));
  }
  for (const std::string_view name : {"kv_cache_bit_width", "qk_norm_epsilon"})
    n.skip_attribute(name);  // settings of quantised caches and of operands that are not read
  Value q = widened(n.input(0)), k = widened(n.optional(1)), v = widened(n.optional(2));
  if (q.rank() != 3)
    throw FormatError(fmt::format("the query must have 3 axes, but is {}", q.type().str()));
  if (!k.defined()) {  // all heads of queries, keys and values in one operand
    const Dim size = exact_div(q.size(2), Dim(heads + 2 * kv_heads));
    const auto parts = split(q, {Dim(heads) * size, Dim(kv_heads) * size, Dim(kv_heads) * size}, 2);
    q = parts[0];
    k = parts[1];
    v = parts[2];
  }
  q = split_heads(q, heads);
  k = split_heads(k, kv_heads);
  v = split_heads(v, kv_heads);
  const Dim batch = q.size(0), length = q.size(2);
  // The numbers of keys after this step, and the position of the first query. In a first step,
  // texts that are shorter than the longest one begin at 0 and are padded at the end.
  const Value keys = reshape(n.input(5), Shape{batch}) + 1;
  const Value start = maximum(keys - dim_value(n.graph(), length, keys.dtype()), zeros_like(keys));
  if (n.flag("do_rotary")) {
    Value positions = n.optional(9);
    if (!positions.defined())
      positions = unsqueeze(start, 1) + arange(n.graph(), length, start.dtype());
    const bool interleaved = n.flag("rotary_interleaved");
    const Value cos = take(widened(n.buffer(7)), positions),
                sin = take(widened(n.buffer(8)), positions);
    q = rotated_heads(q, cos, sin, interleaved);
    k = rotated_heads(k, cos, sin, interleaved);
  } else {
    n.skip_attribute("rotary_interleaved");
    for (const std::size_t i : {7, 8, 9}) n.skip_input(i);
  }
  if (n.has(3) != n.has(4)) n.unsupported("only one of past_key and past_value");
  if (n.has(3)) {
    // The caches have the size of the longest text, or are buffers with room for more.
    const Value past_keys = widened(n.input(3)), past_values = widened(n.input(4));
    const Dim past = past_keys.size(2), total = max(n.size(6), past);
    const auto append = [&](Value cache, Value added) {
      if (total != past) cache = pad(cache, {{0, 0}, {0, 0}, {0, total - past}, {0, 0}});
      return tensor_scatter(cache, added, start);
    };
    k = append(past_keys, k);
    v = append(past_values, v);
  } else {
    n.skip_input(6);
  }
  AttentionOptions options;
  set_scale(n, options);
  options.causal = true;
  options.lengths = keys;
  options.q_start = start;
  options.soft_cap = n.real("softcap", 0);
  options.window = std::max<std::int64_t>(n.integer("local_window_size", -1), 0);
  add_attention_bias(options, n.optional(10), q, k);
  const std::int64_t smooth = n.integer("smooth_softmax", -1);
  if (const Value sinks = widened(n.optional(11)); sinks.defined())
    options.sinks = sinks;
  else if (smooth == 1)
    options.sinks = zeros(n.graph(), q.dtype(), Shape{Dim(heads)});
  if (n.wants(3)) n.unsupported("the output output_qk");
  return {cast(merge_heads(attention(q, k, v, options)), dtype), cast(k, dtype), cast(v, dtype)};
}

std::vector<ImportedValue> microsoft_rotary_embedding(NodeImport& n) {
  const bool interleaved = n.flag("interleaved");
  require_attribute(n, "is_packed_batching", 0);
  if (const double scale = n.real("scale", 1); scale != 1)
    n.unsupported(fmt::format("scale = {}", scale));
  const Value table = widened(n.buffer(2)), sines = widened(n.buffer(3));
  Value x = widened(n.input(0)), positions = n.input(1);
  const bool flat = x.rank() == 3;
  const std::int64_t given = n.integer("num_heads", 0);
  const std::int64_t rotated = n.integer("rotary_embedding_dim", 0);
  if (rotated != 0 && table.size(1) != Dim(rotated / 2))
    throw FormatError(fmt::format("cos_cache must have {} columns", rotated / 2));
  if (flat) {
    // Without num_heads, all features of a head are rotated.
    const std::int64_t heads =
        given != 0 ? given : exact_div(x.size(2), Dim(2) * table.size(1)).constant();
    x = split_heads(x, heads);
  }
  if (positions.rank() == 1)  // of the first element of all texts
    positions =
        reshape(positions, Shape{Dim(1), Dim(1)}) + arange(n.graph(), x.size(2), positions.dtype());
  const Value out = rotated_heads(x, take(table, positions), take(sines, positions), interleaved);
  return {cast(flat ? merge_heads(out) : out, n.input(0).dtype())};
}

constexpr Operator kMicrosoftAttention[] = {
    {"Attention", 1, microsoft_attention},
    {"GroupQueryAttention", 1, group_query_attention},
    {"MultiHeadAttention", 1, multi_head_attention},
    {"RotaryEmbedding", 1, microsoft_rotary_embedding},
};

}  // namespace

std::span<const Operator> microsoft_attention_operators() { return kMicrosoftAttention; }

}  // namespace weft::onnx
