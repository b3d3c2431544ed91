// Makes ops read quantised or narrow weights, keys and values directly, instead of a float copy:
//   matmul(x, dequantize(q, scale))       -> quantized_matmul(x, q, scale)
//   matmul(fake_quantize(x), dequantize(q, scale))
//                                         -> integer_matmul(quantize_rows(x), q, scale)
//   matmul((cast(q8) - zero) * s, dequantize(q, scale))
//                                         -> integer_matmul(q8, s, q, scale, zero), for i8 or u8 q8
//   conv2d((cast(q8) - zero) * s, w)      -> integer_matmul with a kernel, on images [N, H, W, C];
//                                            w is dequantize(q, scale) as [O, C, kh, kw]
//   grouped_matmul(x, dequantize(q, scale), sizes)
//                                         -> quantized_grouped_matmul(x, q, scale, sizes)
//   take(dequantize(q, scale), index)     -> quantized_take(q, scale, index)
//   take(cast(w), index)                  -> cast(take(w, index)), if the cast widens
//   attention(q, cast(k), cast(v), ...)   -> attention_narrow(q, k, v, ...), for bf16 k and v
//   attention(q, unpack_int8_rows(k), unpack_int8_rows(v), ...)
//                                         -> attention_narrow(q, k, v, ...)
// The first five rewrites and the last one sum in a different order, so the last bits may differ.
// The others are bit-exact.
#include <algorithm>
#include <cmath>
#include <optional>

#include "weft/core/integer_range.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/passes/match.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/ops/kernels/integer/integer_product.h"

namespace weft {
namespace {

// Returns levels of dtype i8 or u8 as i8; u8 minus 128.
Value signed_bytes(const Value& levels) {
  return levels.dtype() == DType::i8 ? levels : cast(levels, DType::i8) - (-128);
}

// Activations as integers: (levels - zero) * step, with one step per row, or with one scale.
struct IntegerRows {
  Value levels = {}, step = {}, zero = {}, scale = {};
};

// Returns a zero point of `levels` as i8, minus 128 if the levels are u8, or an undefined value if
// `zero`, which is f32, may be anything but a scalar of the dtype of the levels.
Value integer_zero(const Value& zero, DType levels, Graph& target) {
  if (zero.rank() != 0) return {};
  if (is(zero, "constant")) {
    const double number = zero.node().attributes().tensor("value").at(0);
    const IntegerRange range = integer_range(levels);
    if (std::nearbyint(number) != number || !range.holds(static_cast<std::int64_t>(number)))
      return {};
    return target.scalar(DType::i8, number - (levels == DType::u8 ? 128 : 0));
  }
  if (!is(zero, "cast") || zero.node().input(0).dtype() != levels) return {};
  return signed_bytes(zero.node().input(0));
}

// Matches (cast(levels) - zero) * scale, where zero and scale are scalars.
std::optional<IntegerRows> scaled_levels(const Value& x, Graph& target) {
  if (!is(x, "mul") || x.rank() == 0) return {};
  const Value scale = x.node().input(1);
  Value difference = x.node().input(0), zero;
  if (scale.rank() != 0) return {};
  if (is(difference, "sub")) {
    zero = difference.node().input(1);
    difference = difference.node().input(0);
  }
  if (!is(difference, "cast") || !(difference.shape() == x.shape())) return {};
  const Value levels = difference.node().input(0);
  if (levels.dtype() != DType::i8 && levels.dtype() != DType::u8) return {};
  IntegerRows rows{signed_bytes(levels)};
  if (zero.defined()) {
    rows.zero = integer_zero(zero, levels.dtype(), target);
    if (!rows.zero.defined()) return {};
  } else if (levels.dtype() == DType::u8) {
    rows.zero = target.scalar(DType::i8, -128);
  }
  rows.scale = scale;
  return rows;
}

// Multiplies rounded activations as integers. Products that read the same activations share one
// quantize_rows, because equal nodes are created once. Sums over more inputs could exceed 32 bits,
// and transposed matrices have one scale per input; both are multiplied as floats.
Value multiply_integers(const Value& x, const Value& w, bool transpose, Graph& target) {
  const Attributes& matrix = w.node().attributes();
  if (x.dtype() != DType::f32 || transpose) return {};
  if (matrix.integer("inputs") > kernels::kMaxIntegerInputs) return {};
  const OpSet& ops = target.ops();
  if (ops.find("quantize_rows") == nullptr || ops.find("integer_matmul") == nullptr) return {};
  std::optional<IntegerRows> rows;
  if (is(x, "fake_quantize")) {
    Node& rounded = target.apply("quantize_rows", x.node().inputs(), {}, {});
    rows = IntegerRows{rounded.output(0), rounded.output(1)};
  } else if (w.node().input(0).dtype() == DType::i8 && w.node().input(1).dtype() == DType::f32) {
    rows = scaled_levels(x, target);
  }
  if (!rows) return {};
  if (!rows->step.defined()) {
    const Shape& shape = x.shape();
    rows->step = broadcast_to(rows->scale, Shape(std::vector<Dim>(shape.begin(), shape.end() - 1)));
  }
  return target
      .apply("integer_matmul",
             {rows->levels, rows->step, w.node().input(0), w.node().input(1), rows->zero},
             {{"outputs", matrix.integer("outputs")}}, {})
      .output(0);
}

// The orders of axes that turn images [N, C, H, W] into [N, H, W, C], and back.
const std::vector<std::int64_t> kToChannelsLast = {0, 2, 3, 1}, kToChannelsFirst = {0, 3, 1, 2};

bool is_permute(const Value& v, const std::vector<std::int64_t>& order) {
  return is(v, "permute") && v.node().attributes().integers("order") == order;
}

// Computes an elementwise operation on images that were [N, H, W, C] before they became [N, C, H,
// W] in the former order, so that convolutions of bytes follow one another without copies.
Value in_channels_last(const Node& node, const std::vector<Value>& inputs, Graph& target) {
  if (node.type(0).shape.rank() != 4 || node.op().has(Trait::random)) return {};
  std::vector<Value> operands;
  bool any = false;
  for (const Value& v : inputs) {
    if (!v.defined()) return {};
    if (v.rank() == 0) {
      operands.push_back(v);
    } else if (is_permute(v, kToChannelsFirst)) {
      operands.push_back(v.node().input(0));
      any = true;
    } else if (v.rank() == 4 && v.size(0) == Dim(1) && v.size(2) == Dim(1) && v.size(3) == Dim(1)) {
      operands.push_back(reshape(v, Shape{v.size(1)}));
    } else {
      return {};
    }
  }
  if (!any) return {};
  return permute(target.apply(node.op(), std::move(operands), node.attributes(), {}).output(0),
                 {0, 3, 1, 2});
}

// Convolves rounded images as integers if the weight is a quantised matrix with a row of [kh, kw,
// C] inputs per output.
Value convolve_integers(const Node& node, const std::vector<Value>& inputs, Graph& target) {
  const Value &x = inputs[0], &w = inputs[1];
  if (node.attributes().integer("groups") != 1) return {};
  const bool is_point = w.size(2) == Dim(1) && w.size(3) == Dim(1);  // a matrix in either order
  const bool is_permuted = is_permute(w, kToChannelsFirst);
  if (!is_point && !is_permuted) return {};
  const Value taps = is_permuted ? w.node().input(0) : w;
  if (!is(taps, "reshape") || !is(taps.node().input(0), "dequantize")) return {};
  const Node& matrix = taps.node().input(0).node();
  const std::int64_t outputs = matrix.attributes().integer("outputs");
  const bool by_output = matrix.attributes().flag("transposed") && taps.size(0) == Dim(outputs);
  const bool is_int8 =
      matrix.input(0).dtype() == DType::i8 && matrix.input(1).dtype() == DType::f32;
  if (!by_output || !is_int8 || target.ops().find("integer_matmul") == nullptr) return {};
  if (matrix.attributes().integer("inputs") > kernels::kMaxIntegerInputs) return {};
  const bool is_last = is_permute(x, kToChannelsFirst);
  const std::optional<IntegerRows> rows = scaled_levels(is_last ? x.node().input(0) : x, target);
  if (!rows) return {};
  const Value images = is_last ? rows->levels : permute(rows->levels, {0, 2, 3, 1});
  Attributes attributes{
      {"outputs", outputs},
      {"kernel", std::vector<std::int64_t>{w.size(2).constant(), w.size(3).constant()}}};
  for (const char* name : {"stride", "padding", "dilation"})
    attributes.set(name, node.attributes().integers(name));
  const Shape& shape = node.type(0).shape;
  const Value step = broadcast_to(rows->scale, Shape{shape[0], shape[2], shape[3]});
  const Value product =
      target
          .apply("integer_matmul", {images, step, matrix.input(0), matrix.input(1), rows->zero},
                 std::move(attributes), {})
          .output(0);
  return permute(product, {0, 3, 1, 2});
}

// Rewrites matmul and grouped_matmul.
Value multiply_quantized(const Node& node, const std::vector<Value>& inputs, Graph& target) {
  const Value x = inputs[0], w = inputs[1];
  if (!is(w, "dequantize") || x.dtype() != w.dtype()) return {};
  const Attributes& matrix = w.node().attributes();
  const bool grouped = is(node, "grouped_matmul");
  if (grouped != (w.rank() == 3)) return {};
  if (!grouped && node.attributes().flag("transpose_a")) return {};
  // The gradient with respect to x multiplies by the matrix in the opposite orientation to the
  // forward product.
  const bool transpose =
      node.attributes().flag(grouped ? "transpose_w" : "transpose_b") != matrix.flag("transposed");
  if (!grouped) {
    const Value product = multiply_integers(x, w, transpose, target);
    if (product.defined()) return product;
  }
  std::vector<Value> operands = {x, w.node().input(0), w.node().input(1)};
  Attributes attributes{{"outputs", matrix.integer(transpose ? "inputs" : "outputs")},
                        {"transpose", transpose}};
  if (grouped) {
    operands.push_back(inputs[2]);  // the grouped product has float32 accuracy at every precision
  } else {
    attributes.set("precision", node.attributes().text("precision"));
  }
  return target
      .apply(grouped ? "quantized_grouped_matmul" : "quantized_matmul", std::move(operands),
             std::move(attributes), {})
      .output(0);
}

Value take_quantized(const Value& w, const Value& index, Graph& target) {
  const Attributes& matrix = w.node().attributes();
  if (!matrix.flag("transposed")) return {};
  return target
      .apply("quantized_take", {w.node().input(0), w.node().input(1), index},
             {{"inputs", matrix.integer("inputs")},
              {"outputs", matrix.integer("outputs")},
              {"dtype", matrix.dtype("dtype")}},
             {})
      .output(0);
}

Value take_narrow(const Node& node, const Value& w, const Value& index, Graph& target) {
  const Value narrow = w.node().input(0);
  if (dtype_size(narrow.dtype()) >= dtype_size(w.dtype())) return {};
  const Value rows = target.apply("take", {narrow, index}, node.attributes(), {}).output(0);
  return target.apply("cast", {rows}, w.node().attributes(), {}).output(0);
}

bool is_widened(const Value& v) {
  return is(v, "cast") && v.dtype() == DType::f32 && v.node().input(0).dtype() == DType::bf16;
}

std::vector<Value> attend_narrow(const Node& node, const std::vector<Value>& inputs,
                                 Graph& target) {
  const Value k = inputs[1], v = inputs[2];
  const bool packed = is(k, "unpack_int8_rows") && is(v, "unpack_int8_rows");
  if (!packed && (!is_widened(k) || !is_widened(v))) return {};
  std::vector<Value> operands = inputs;
  operands[1] = k.node().input(0);
  operands[2] = v.node().input(0);
  Node& made = target.apply("attention_narrow", std::move(operands), node.attributes(), {});
  return {made.output(0), made.output(1)};
}

Value rewrite(const Node& node, const std::vector<Value>& inputs, Graph& target) {
  if (node.instance() != 0) return {};
  if (is(node, "conv2d")) return convolve_integers(node, inputs, target);
  if (node.op().has(Trait::elementwise)) return in_channels_last(node, inputs, target);
  const bool is_inverse = is(node, "permute") && is_permute(inputs[0], kToChannelsFirst) &&
                          node.attributes().integers("order") == kToChannelsLast;
  if (is_inverse) return inputs[0].node().input(0);
  if (is(node, "matmul") || is(node, "grouped_matmul"))
    return multiply_quantized(node, inputs, target);
  if (is(node, "take")) {
    const bool rows = node.attributes().integer("axis") == 0;
    if (rows && is(inputs[0], "dequantize") && inputs[0].rank() == 2)
      return take_quantized(inputs[0], inputs[1], target);
    if (is(inputs[0], "cast")) return take_narrow(node, inputs[0], inputs[1], target);
  }
  return {};
}

}  // namespace

Module fold_dequantize(Module module, const PassOptions& pass) {
  const std::vector<Node*> nodes = module.program.nodes();
  pass.count(nodes.size());
  const bool any = std::any_of(nodes.begin(), nodes.end(), [](const Node* n) {
    return is(*n, "dequantize") || is(*n, "cast") || is(*n, "unpack_int8_rows");
  });
  if (!any) return module;
  CloneOptions options;
  options.steps = pass.steps;
  options.rewrite = [](const Node& node, const std::vector<Value>& inputs, Graph& target) {
    if (is(node, "attention") && node.instance() == 0) return attend_narrow(node, inputs, target);
    const Value value = rewrite(node, inputs, target);
    return value.defined() ? std::vector<Value>{value} : std::vector<Value>();
  };
  return clone_program(module.program, options);
}

}  // namespace weft
