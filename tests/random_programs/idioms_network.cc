// Layers, heads and attention blocks: the patterns that fusion passes match.
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/attention.h"
#include "weft/graph/functions/conv.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/norm.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/tests/random_programs/idioms.h"

namespace weft::testing {
namespace {

Tensor ids_below(std::int64_t n) {
  return Tensor::of<std::int64_t>({2}, {0, std::max<std::int64_t>(n - 1, 0)});
}

Shape without_last(const Shape& shape) {
  Shape result;
  for (int a = 0; a + 1 < shape.rank(); ++a) result.push_back(shape[a]);
  return result;
}

Value activation(RandomSource& random, Value x) {
  switch (random.below(6)) {
    case 0: return relu(x);
    case 1: return gelu(x);
    case 2: return tanh(x);
    case 3: return silu(x);
    case 4: return x * sigmoid(x);
    default: return clamp(x, -1.0, 1.0);
  }
}

std::optional<Precision> any_precision(RandomSource& random) {
  if (random.chance(0.7)) return std::nullopt;
  return random.pick({Precision::medium, Precision::high, Precision::highest});
}

/// A linear layer on `x` with new leaves, which are also stored here.
struct Layer {
  Value out, weight, bias;
};
Layer layer(Builder& b, Value x, const Dim& outputs) {
  RandomSource& random = b.random();
  Layer l;
  const bool transposed = random.chance(0.5);
  const Dim inputs = x.size(-1);
  l.weight = b.leaf(x.dtype(), transposed ? Shape{outputs, inputs} : Shape{inputs, outputs});
  if (!l.weight.defined()) return l;
  l.out = matmul(x, l.weight, {.transpose_b = transposed, .precision = any_precision(random)});
  if (random.chance(0.7)) {
    l.bias = b.leaf(x.dtype(), {outputs});
    if (!l.bias.defined()) return {};
    l.out = random.chance(0.2) ? l.out + broadcast_to(l.bias, l.out.shape()) : l.out + l.bias;
  }
  return l;
}

/// logits = x w + b and their cross-entropy, often with all gradients.
bool head(Builder& b) {
  RandomSource& random = b.random();
  const Value x = any_float(b, random.chance(0.3) ? 1 : 2);
  const std::int64_t classes = any_size(random);
  const Layer l = layer(b, x, Dim(classes));
  if (!l.out.defined()) return false;
  const DType ids = random.chance(0.7) ? DType::i64 : DType::i32;
  const Value targets = b.leaf(ids, without_last(x.shape()), ids_below(classes).to(ids));
  if (!targets.defined()) return false;
  const Attributes attributes = {
      {"axis", static_cast<std::int64_t>(x.rank() - 1)},
      {"ignore_index", random.pick({std::int64_t{-100}, std::int64_t{0}})},
      {"label_smoothing", random.pick({0.0, 0.0, 0.1})}};
  Node& loss = b.graph().apply("cross_entropy", {l.out, targets}, attributes);
  if (!b.evaluate_new(true)) return false;
  if (random.chance(0.3)) return true;
  Value total = loss.output(0);
  if (random.chance(0.3)) total = square(total);  // its gradient then depends on the loss
  std::vector<Value> wrt = {l.weight};
  if (l.bias.defined()) wrt.push_back(l.bias);
  if (random.chance(0.8)) wrt.push_back(x);
  return add_gradients(b, total, wrt);
}

/// A product followed by other steps: bias, activation, residual, a narrow copy.
bool product(Builder& b) {
  RandomSource& random = b.random();
  Value x = any_float(b, 1);
  if (random.chance(0.15)) x = cast(x, random.pick({DType::bf16, DType::f16}));
  const bool residual = random.chance(0.4);
  const Layer l = layer(b, x, residual ? x.size(-1) : Dim(any_size(random)));
  if (!l.out.defined()) return false;
  Value y = activation(random, l.out);
  if (residual) y = y + x;
  if (random.chance(0.2)) y = y * 0.5;
  if (random.chance(0.2)) y = cast(y, random.pick({DType::bf16, DType::f16, DType::f64}));
  if (random.chance(0.3)) y = sum(y, -1);
  return b.evaluate_new(true);
}

/// An activation that is used only by products at medium precision.
bool products_at_medium(Builder& b) {
  RandomSource& random = b.random();
  const Value x = any_float(b, 2);
  Value h = activation(random, x);
  if (random.chance(0.4)) h = flatten(h, 0, -2);
  const Value w = b.leaf(x.dtype(), {x.size(-1), Dim(any_size(random))});
  if (!w.defined()) return false;
  const Value y = matmul(h, w, {.precision = Precision::medium});
  if (random.chance(0.5)) return add_gradients(b, tanh(y), {w, x});
  const Value other = b.leaf(x.dtype(), {Dim(any_size(random)), x.size(-1)});
  if (!other.defined()) return false;
  matmul(h, other, {.transpose_b = true, .precision = Precision::medium});
  return b.evaluate_new(true);
}

/// A table that is used in a lookup and in a product, so that the gradients of both are summed.
bool tied_table(Builder& b) {
  RandomSource& random = b.random();
  const std::int64_t rows = any_size(random), width = any_size(random);
  const Value table = b.leaf(random.chance(0.8) ? DType::f32 : DType::f64, {rows, width});
  const Shape places = random.chance(0.5) && b.declares && !b.graph().symbols().empty()
                           ? Shape{Dim(random.pick(b.graph().symbols()))}
                           : Shape{2, any_size(random)};
  const Value ids = b.leaf(DType::i64, places, ids_below(rows));
  if (!table.defined() || !ids.defined()) return false;
  const Value h = tanh(
      embedding(ids, table, random.chance(0.2) ? std::optional<std::int64_t>(0) : std::nullopt));
  const Value logits = matmul(h, table, {.transpose_b = true});
  return add_gradients(b, logits * logits, {table});
}

/// conv2d, bias, activation and pooling, in some cases with gradients.
bool convolution(Builder& b) {
  RandomSource& random = b.random();
  const std::int64_t groups = random.pick({1, 1, 2}), in = groups * random.from(1, 3),
                     out = groups * random.from(1, 4);
  const auto& symbols = b.graph().symbols();
  const Dim images = b.declares && !symbols.empty() && random.chance(0.5)
                         ? Dim(random.pick(symbols))
                         : Dim(random.from(1, 3));
  const Value x = b.leaf(DType::f32, {images, in, random.from(2, 9), random.from(3, 9)});
  const Value w = b.leaf(DType::f32, {out, in / groups, random.from(1, 3), random.from(1, 3)});
  const Value bias = random.chance(0.6) ? b.leaf(DType::f32, {out}) : Value();
  if (!x.defined() || !w.defined()) return false;
  const auto one_or_two = [&] { return random.from(1, 2); };
  Value y = activation(random, conv2d(x, w, bias,
                                      {.stride = {one_or_two(), one_or_two()},
                                       .padding = {random.below(2), random.below(3)},
                                       .dilation = {1, one_or_two()},
                                       .groups = groups}));
  if (random.chance(0.5)) {
    const Pool2dOptions pool{.kernel = {one_or_two(), one_or_two()}};
    y = random.chance(0.5) ? max_pool2d(y, pool) : avg_pool2d(y, pool);
  }
  return random.chance(0.4) ? add_gradients(b, y * y, {x, w}) : b.evaluate_new(true);
}

/// An attention block: projections, split heads, attention, merged heads, residual and norm.
bool attention_block(Builder& b) {
  RandomSource& random = b.random();
  const std::int64_t groups = random.pick({1, 1, 2}), heads = groups * random.from(1, 2),
                     depth = random.pick({1, 2, 3, 4, 8}), width = heads * depth;
  const auto& symbols = b.graph().symbols();
  const auto size = [&] {
    return b.declares && !symbols.empty() && random.chance(0.4) ? Dim(random.pick(symbols))
                                                                : Dim(random.from(1, 6));
  };
  const Value x = b.leaf(DType::f32, {size(), size(), width});
  if (!x.defined()) return false;
  const std::int64_t kv_heads = heads / groups;
  const Layer all = layer(b, x, Dim(width + 2 * kv_heads * depth));
  if (!all.out.defined()) return false;
  const std::vector<Value> parts =
      split(all.out, {Dim(width), Dim(kv_heads * depth), Dim(kv_heads * depth)}, -1);
  const auto in_heads = [&](Value v, std::int64_t n) {
    return permute(reshape(v, Shape{x.size(0), x.size(1), n, depth}), {0, 2, 1, 3});
  };
  AttentionOptions options;
  options.causal = random.chance(0.5);
  if (random.chance(0.2)) options.window = random.from(1, 3);
  if (const Value key = random.chance(0.3) ? b.key() : Value(); key.defined()) {
    options.dropout = 0.5;
    options.key = key;
  }
  const Value out = attention(in_heads(parts[0], heads), in_heads(parts[1], kv_heads),
                              in_heads(parts[2], kv_heads), options);
  const Layer last = layer(b, reshape(permute(out, {0, 2, 1, 3}), x.shape()), Dim(width));
  if (!last.out.defined()) return b.evaluate_new(true);
  const Value y = random.chance(0.5) ? layer_norm(last.out + x) : rms_norm(last.out + x);
  if (options.dropout > 0 || random.chance(0.5)) return b.evaluate_new(true);
  return add_gradients(b, y * x, {all.weight, last.weight, x});
}

}  // namespace

std::vector<Idiom> network_idioms() {
  return {head, product, products_at_medium, tied_table, convolution, attention_block};
}

}  // namespace weft::testing
