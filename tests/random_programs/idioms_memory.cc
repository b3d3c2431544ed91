// Writes into slices of other tensors, views of views, narrow and quantised data.
#include "weft/core/error.h"
#include "weft/graph/functions/add_into.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/attention.h"
#include "weft/graph/functions/fake_quantize.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/tests/random_programs/idioms.h"

namespace weft::testing {
namespace {

/// Several slices of one value are used differently; their gradients are accumulated in one buffer.
bool slices(Builder& b) {
  RandomSource& random = b.random();
  const Value x = any_float(b, 1);
  Value total = b.graph().scalar(x.dtype(), 0);
  for (std::int64_t i = random.from(2, 4); i > 0; --i) {
    std::vector<Slice> parts;
    for (int a = 0; a < x.rank(); ++a) {
      Slice part;
      if (random.chance(0.6)) part.begin = Dim(random.below(2));
      if (random.chance(0.4)) part.end = x.size(a) - Dim(random.below(2));
      if (random.chance(0.2)) part.step = random.pick({1, 2, 3});
      parts.push_back(part);
    }
    const Value s = slice(x, parts);
    total = total + sum(random.chance(0.5) ? tanh(s) : s * s);
  }
  return add_gradients(b, total, {x});
}

/// y + (a slice written into zeros), as users write it.
bool put_into_zeros(Builder& b) {
  RandomSource& random = b.random();
  const bool integers = random.chance(0.2);
  const DType dtype = integers ? DType::i64 : b.any_dtype();
  const std::int64_t rows = any_size(random), width = any_size(random);
  const Value y = b.leaf(dtype, {rows, width});
  if (!y.defined()) return false;
  const Value zero = zeros(b.graph(), dtype, y.shape());
  const std::int64_t n = random.from(0, 4);
  const Tensor ids = Tensor::of<std::int64_t>({2}, {0, rows - 1});
  Value part;
  switch (random.below(4)) {
    case 0: {
      const Value at = b.leaf(DType::i64, {n}, ids), src = b.leaf(dtype, {n, width});
      if (at.defined() && src.defined()) part = index_add(zero, at, src);
      break;
    }
    case 1: {
      const Value at = b.leaf(DType::i64, {n, width}, ids), src = b.leaf(dtype, {n, width});
      if (at.defined() && src.defined()) part = scatter_add(zero, at, src, 0);
      break;
    }
    case 2: {
      const std::int64_t height = random.from(0, rows);
      const Value start = b.leaf(DType::i64, {2}, Tensor::of<std::int64_t>({2}, {0, 0}));
      const Value src = b.leaf(dtype, {height, width});
      if (start.defined() && src.defined()) part = dynamic_update_slice(zero, src, start);
      break;
    }
    default: {
      const std::int64_t first = random.below(rows);
      const Value src = b.leaf(dtype, {rows - first, width});
      if (src.defined()) {
        part = b.graph()
                   .apply("unslice", {src},
                          {{"shape", y.shape()},
                           {"starts", Shape{first, 0}},
                           {"steps", std::vector<std::int64_t>{1, 1}}})
                   .output(0);
      }
    }
  }
  if (!part.defined()) return false;
  Value s = random.chance(0.5) ? y + part : part + y;
  if (random.chance(0.3)) s = add_into(s, part);
  return b.evaluate_new(true);
}

/// A sequence of reshapes, permutations and elementwise steps.
bool views(Builder& b) {
  RandomSource& random = b.random();
  const Value x = any_float(b, 2);
  Value v = x;
  for (std::int64_t i = random.from(2, 5); i > 0; --i) {
    switch (random.below(7)) {
      case 0: v = flatten(v, 0, static_cast<int>(random.below(v.rank()))); break;
      case 1: v = v.rank() > 1 ? transpose(v, 0, -1) : v; break;
      case 2: v = reshape(v, x.shape()); break;
      case 3: v = unsqueeze(v, static_cast<int>(random.below(v.rank() + 1))); break;
      case 4: v = random.chance(0.5) ? tanh(v) : -v; break;
      case 5: v = flip(v, static_cast<int>(random.below(v.rank()))); break;
      default: v = concat({v, v}, static_cast<int>(random.below(v.rank()))); break;
    }
  }
  if (v.shape() == x.shape()) v = v + x;
  return b.evaluate_new(true);
}

/// A quantised matrix that is used in a product or a lookup.
bool quantised(Builder& b) {
  RandomSource& random = b.random();
  static const std::vector<OpSample> samples = b.graph().ops().at("dequantize").samples();
  const OpSample& sample = random.pick(samples);
  std::vector<Value> leaves;
  for (const Tensor& t : sample.inputs) leaves.push_back(b.leaf(t.dtype(), Shape(t.sizes()), t));
  if (!leaves[0].defined() || !leaves[1].defined()) return false;
  const Attributes& attributes = sample.attributes;
  const Value w = b.graph().apply("dequantize", leaves, attributes).output(0);
  const bool transposed = attributes.flag("transposed");
  const std::int64_t inputs = attributes.integer("inputs"), outputs = attributes.integer("outputs");
  if (transposed && outputs > 0 && random.chance(0.5)) {
    const Value ids =
        b.leaf(DType::i64, {random.from(0, 4)}, Tensor::of<std::int64_t>({2}, {0, outputs - 1}));
    if (!ids.defined()) return false;
    take(w, ids);
    return b.evaluate_new(true);
  }
  const Value x = b.leaf(DType::f32, {random.from(0, 3), inputs});
  if (!x.defined()) return false;
  const bool rounded = random.chance(0.5), is_static = random.chance(0.3);
  const Value step = is_static ? b.graph().scalar(DType::f32, 0.0078125) : Value();
  const Value operand = rounded ? fake_quantize(x, step) : x;
  Value y = matmul(operand, w, {.transpose_b = transposed});
  if (random.chance(0.6)) y = relu(y * 0.5 + 1.0);
  return b.evaluate_new(true);
}

/// Data that is stored in 16 bits and read as floats.
bool widened(Builder& b) {
  RandomSource& random = b.random();
  const DType narrow = random.pick({DType::bf16, DType::bf16, DType::f16});
  if (random.chance(0.4)) {
    const std::int64_t rows = any_size(random);
    const Value table = b.leaf(narrow, {rows, any_size(random)});
    const Value ids =
        b.leaf(DType::i64, {random.from(0, 4)}, Tensor::of<std::int64_t>({2}, {0, rows - 1}));
    if (!table.defined() || !ids.defined()) return false;
    take(cast(table, DType::f32), ids);
    return b.evaluate_new(true);
  }
  const std::int64_t depth = random.pick({1, 2, 4, 8, 16}), keys = random.from(0, 9);
  const Value q = b.leaf(DType::f32, {2, 2, random.from(1, 3), depth});
  const Value k = b.leaf(narrow, {2, random.from(1, 2), keys, depth});
  if (!k.defined()) return false;
  const Value v = b.leaf(narrow, {Dim(2), k.size(1), Dim(keys), random.from(1, 4)});
  if (!q.defined() || !v.defined()) return false;
  const Value out =
      attention(q, cast(k, DType::f32), cast(v, DType::f32), {.causal = random.chance(0.4)});
  if (random.chance(0.3)) matmul(out, cast(v, DType::f32), {.transpose_b = true});
  return b.evaluate_new(true);
}

}  // namespace

std::vector<Idiom> memory_idioms() { return {slices, put_into_zeros, views, quantised, widened}; }

}  // namespace weft::testing
