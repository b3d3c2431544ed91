// Attention and rotary positions of opset 23.
#include "weft/serialization/onnx/import/operators/attention.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/norm.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/numeric.h"

namespace weft::onnx {

Value split_heads(Value x, std::int64_t heads) {
  const auto features = Dim::try_exact_div(x.size(2), Dim(heads));
  if (heads < 1 || !features) {
    throw FormatError(
        fmt::format("the last axis of {} is not a multiple of {} heads", x.type().str(), heads));
  }
  return permute(reshape(x, Shape{x.size(0), x.size(1), Dim(heads), *features}), {0, 2, 1, 3});
}

Value merge_heads(Value x) {
  return reshape(permute(x, {0, 2, 1, 3}), Shape{x.size(0), x.size(2), x.size(1) * x.size(3)});
}

Value aligned_scores(Value x, Value q, Value k) {
  const Shape full{q.size(0), q.size(1), q.size(2), k.size(2)};
  if (x.rank() > 4)
    throw FormatError(fmt::format("a mask must have 4 axes, but is {}", x.type().str()));
  Shape shape(std::vector<Dim>(static_cast<std::size_t>(4 - x.rank()), Dim(1)));
  for (const Dim& size : x.shape()) {
    const int axis = shape.rank();
    shape.push_back(size);
    if (size != Dim(1)) x.graph().require(size == full[axis]);
  }
  return reshape(x, shape);
}

void mask_future_keys(AttentionOptions& options, Value q, Value k, const Dim& past) {
  options.causal = true;
  // Without q_start, the last query is at the last key.
  if (q.graph().facts().equal(q.size(2) + past, k.size(2))) return;
  options.q_start = broadcast_to(dim_value(q.graph(), past), Shape{q.size(0)});
}

Value rotated_heads(Value x, Value cos, Value sin, bool interleaved) {
  const Dim pairs = cos.size(-1);
  const bool partial = x.size(3) != Dim(2) * pairs;
  const Value turned = partial ? slice(x, 3, Slice{Dim(0), Dim(2) * pairs}) : x;
  cos = unsqueeze(cos, 1);
  sin = unsqueeze(sin, 1);
  Value a, b;
  if (interleaved) {
    const Value both = reshape(turned, Shape{x.size(0), x.size(1), x.size(2), pairs, Dim(2)});
    a = select(both, 4, Dim(0));
    b = select(both, 4, Dim(1));
  } else {
    a = slice(turned, 3, Slice{Dim(0), pairs});
    b = slice(turned, 3, Slice{pairs, Dim(2) * pairs});
  }
  const Value real = a * cos - b * sin, imaginary = a * sin + b * cos;
  const Value out = interleaved ? reshape(stack({real, imaginary}, 4), turned.shape())
                                : concat({real, imaginary}, 3);
  if (!partial) return out;
  return concat({out, slice(x, 3, Slice{Dim(2) * pairs, std::nullopt})}, 3);
}

namespace {

/// The products of queries and keys that the operator Attention returns: 0 scaled products, 1 with
/// the soft cap, 2 with the mask, 3 the attention weights.
Value attention_products(Value q, Value k, const AttentionOptions& o, const Dim& past,
                         std::int64_t mode) {
  const Dim group = exact_div(q.size(1), k.size(1));
  if (group != Dim(1)) k = repeat_interleave(k, group.constant(), 1);
  Value x = matmul(q, k, {.transpose_b = true}) * *o.scale;
  if (mode == 0) return x;
  if (o.soft_cap > 0) x = tanh(x / o.soft_cap) * o.soft_cap;
  if (mode == 1) return x;
  if (o.bias.present()) x = x + o.bias.value();
  Value seen = o.mask.value();
  if (o.causal) {
    const Shape scores{q.size(2), k.size(2)};
    const Value earlier =
        iota(q.graph(), scores, 1) <= iota(q.graph(), scores, 0) + dim_value(q.graph(), past);
    seen = seen.defined() ? logical_and(seen, earlier) : earlier;
  }
  if (seen.defined()) x = where(seen, x, -HUGE_VAL);
  return mode == 2 ? x : softmax(x);
}

std::vector<ImportedValue> standard_attention(NodeImport& n) {
  const DType dtype = n.input(0).dtype();
  Value q = widened(n.input(0)), k = widened(n.input(1)), v = widened(n.input(2));
  const bool flat = q.rank() == 3;
  if (q.rank() != k.rank() || q.rank() != v.rank() || (!flat && q.rank() != 4)) {
    throw FormatError(fmt::format("Q, K and V must have 3 or 4 axes, but are {}, {} and {}",
                                  q.type().str(), k.type().str(), v.type().str()));
  }
  if (flat) {
    const std::int64_t heads = n.integer("q_num_heads"), kv_heads = n.integer("kv_num_heads");
    q = split_heads(q, heads);
    k = split_heads(k, kv_heads);
    v = split_heads(v, kv_heads);
  } else {
    for (const std::string_view name : {"q_num_heads", "kv_num_heads"}) n.skip_attribute(name);
  }
  Dim past(0);
  if (n.has(4) != n.has(5)) n.unsupported("only one of past_key and past_value");
  if (n.has(4)) {
    const Value keys = widened(n.input(4));
    past = keys.size(2);
    k = concat({keys, k}, 2);
    v = concat({widened(n.input(5)), v}, 2);
  }
  AttentionOptions options;
  if (!q.size(3).is_constant()) n.unsupported("heads of symbolic size");
  options.scale = n.real(
      "scale", 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(q.size(3).constant(), 1))));
  options.soft_cap = n.real("softcap", 0);
  if (n.flag("is_causal")) mask_future_keys(options, q, k, past);
  if (const Value mask = widened(n.optional(3)); mask.defined()) {
    const Value aligned = aligned_scores(mask, q, k);
    (mask.dtype() == DType::boolean ? options.mask : options.bias) = aligned;
  }
  n.skip_attribute("softmax_precision");  // at least f32
  const std::int64_t mode = n.integer("qk_matmul_output_mode", 0);
  const Value out = attention(q, k, v, options);
  std::vector<ImportedValue> results{cast(flat ? merge_heads(out) : out, dtype), cast(k, dtype),
                                     cast(v, dtype)};
  if (n.wants(3)) results.emplace_back(cast(attention_products(q, k, options, past, mode), dtype));
  return results;
}

std::vector<ImportedValue> standard_rotary_embedding(NodeImport& n) {
  Value x = widened(n.input(0));
  Value cos = widened(n.buffer(1)), sin = widened(n.buffer(2));
  const bool flat = x.rank() == 3;
  const std::int64_t heads = n.integer("num_heads", 0);
  if (flat) x = split_heads(x, heads);
  if (const Value positions = n.optional(3); positions.defined()) {
    cos = take(cos, positions);
    sin = take(sin, positions);
  }
  const std::int64_t rotated = n.integer("rotary_embedding_dim", 0);
  if (cos.rank() != 3 || (rotated != 0 && cos.size(2) != Dim(rotated / 2)) ||
      (rotated == 0 && Dim(2) * cos.size(2) != x.size(3))) {
    throw FormatError(fmt::format("the cosines, {}, do not match rotary_embedding_dim {} and x {}",
                                  cos.type().str(), rotated, x.type().str()));
  }
  const Value out = rotated_heads(x, cos, sin, n.flag("interleaved"));
  return {cast(flat ? merge_heads(out) : out, n.input(0).dtype())};
}

constexpr Operator kAttentionOperators[] = {
    {"Attention", 23, standard_attention},
    {"RotaryEmbedding", 23, standard_rotary_embedding},
};

}  // namespace

std::span<const Operator> attention_operators() { return kAttentionOperators; }

}  // namespace weft::onnx
