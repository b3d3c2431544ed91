// Quantised tensors and products of integers. Every result is exact up to the rounding that the
// operator defines: integers of 8 bits and their differences are exact in f32, and sums of products
// of two of them in f64.
#include "weft/serialization/onnx/import/operators/quantized.h"

#include <algorithm>

#include "weft/core/integer_range.h"
#include "weft/graph/control/call.h"
#include "weft/graph/functions.h"
#include "weft/ops/kernels/integer/integer_product.h"
#include "weft/ops/quantized/quantized.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/convolution.h"
#include "weft/serialization/onnx/import/operators/int8_weights.h"
#include "weft/serialization/onnx/import/operators/numeric.h"

namespace weft::onnx {

Value along_axis(NodeImport& n, Value x, int axis, int rank) {
  if (x.rank() == 0) return x;
  if (x.rank() == 1 && x.size(0) == Dim(1)) return reshape(x, Shape());
  if (x.rank() != 1) n.unsupported("scales or zero points with more than one axis");
  std::vector<Dim> sizes(static_cast<std::size_t>(rank), Dim(1));
  sizes[static_cast<std::size_t>(n.normalised_axis(axis, rank))] = x.size(0);
  return reshape(x, Shape(std::move(sizes)));
}

namespace {

Value one_element(NodeImport& n, Value x, std::string_view what) {
  for (const Dim& d : x.shape()) {
    if (!(d == Dim(1))) n.unsupported(std::string(what) + " with more than one element");
  }
  return reshape(x, Shape());
}

// Returns scales or zero points of blocks along an axis of x, one per element.
Value per_element(NodeImport& n, Value blocks, Value x, int axis, std::int64_t block) {
  if (blocks.rank() != x.rank()) n.unsupported("block_size and scales of another rank");
  const Value repeated = repeat_interleave(blocks, block, axis);
  return slice(repeated, axis, {.begin = Dim(0), .end = x.size(axis)});
}

// Returns the parameters in operands 1 and 2 of QuantizeLinear and DequantizeLinear.
Quantization linear_quantization(NodeImport& n, Value x) {
  const std::int64_t axis = n.integer("axis", 1), block = n.integer("block_size", 0);
  Quantization result{n.buffer(1), n.optional(2)};
  const auto placed = [&](Value v) {
    if (!v.defined()) return v;
    if (block == 0) return along_axis(n, v, static_cast<int>(axis), x.rank());
    return per_element(n, v, x, n.normalised_axis(axis, x.rank()), block);
  };
  result.scale = placed(result.scale);
  result.zero = placed(result.zero);
  if (result.zero.defined()) result.dtype = result.zero.dtype();
  return result;
}

// Returns the dtype in an attribute, in which 0 means the default.
DType dtype_unless_0(NodeImport& n, std::string_view name, DType otherwise) {
  return n.integer(name, 0) == 0 ? otherwise : dtype_attribute(n, name);
}

// -- Weights --------------------------------------------------------------------------------------

// Returns the value of an operand if it is known; an undefined tensor if the operand is absent.
std::optional<Tensor> known_operand(NodeImport& n, std::size_t i) {
  return n.has(i) ? n.known_if_any(i) : Tensor();
}

// Returns a known weight of 8 bits, a matrix or the weight of a 2-D convolution, with one scale, or
// one scale per output, as variables in the layout that products of integers read.
Value dequantized_weight(NodeImport& n, Value q) {
  const bool is_conv = q.rank() == 4;
  if ((q.rank() != 2 && !is_conv) || (q.dtype() != DType::i8 && q.dtype() != DType::u8)) return {};
  if (n.integer("block_size", 0) != 0) return {};
  if (dtype_unless_0(n, "output_dtype", DType::f32) != DType::f32) return {};
  const std::optional<Tensor> known = n.known(q), scale = known_operand(n, 1);
  const std::optional<Tensor> zeros = known_operand(n, 2);
  if (!known || known->numel() == 0 || !scale || !zeros) return {};
  if (scale->dtype() != DType::f32 || scale->rank() > 1) return {};
  const bool has_rows = scale->numel() != 1 && n.axis("axis", 1, q.rank()) == 0;
  const bool transposed = is_conv || has_rows;
  const Tensor levels = is_conv ? channels_last_rows(*known) : *known;
  const std::int64_t inputs = levels.size(transposed ? 1 : 0);
  const std::int64_t outputs = levels.size(transposed ? 0 : 1);
  if (scale->numel() != 1 && (scale->numel() != outputs || has_rows != transposed)) return {};
  const std::optional<Tensor> packed = int8_matrix(levels, *zeros, transposed);
  if (!packed) return {};
  Tensor scales =
      Tensor::zeros(DType::f32, quantized_scale_sizes(QuantizedFormat::int8, inputs, outputs));
  for (std::int64_t j = 0; j < outputs; ++j)
    scales.mutable_data<float>()[j] = scale->data<float>()[scale->numel() == 1 ? 0 : j];
  n.skip_attribute("axis");
  n.skip_input(1);
  n.skip_input(2);
  std::string name = n.node().input(0);
  constexpr std::string_view kSuffix = "_quantized";  // written by ONNX Runtime
  if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
  const Value matrix = apply_op(
      "dequantize", {n.add_buffer(name + ".q", *packed), n.add_buffer(name + ".scale", scales)},
      {{"inputs", inputs}, {"outputs", outputs}, {"transposed", transposed}});
  if (!is_conv) return matrix;
  const Shape& shape = q.shape();
  if (shape[2] == Dim(1) && shape[3] == Dim(1)) return reshape(matrix, shape);
  return permute(reshape(matrix, Shape{shape[0], shape[2], shape[3], shape[1]}), {0, 3, 1, 2});
}

// -- Rounding in training -------------------------------------------------------------------------

// Returns x if q is quantized(x, to), otherwise an undefined value.
Value rounded_by(Value q, const Quantization& to) {
  const auto operand = [](const Value& v, std::string_view op, std::size_t i = 0) {
    return v.defined() && v.node().op().name == op ? v.node().input(i) : Value();
  };
  const Value clamped = operand(q, "cast");
  Value level = operand(clamped, "clamp");
  if (to.zero.defined()) {
    const Value zero = operand(level, "add", 1);
    if (operand(zero, "cast") != to.zero) return {};
    level = operand(level, "add");
  }
  const Value quotient = operand(level, "round");
  return operand(quotient, "div", 1) == to.scale ? operand(quotient, "div") : Value();
}

// Returns dequantized(quantized(x, to), to). The gradient is that of the identity within the range
// of the levels and 0 outside (straight-through estimator), as for fake_quantize.
Value straight_through(NodeImport& n, Value x, const Quantization& to) {
  std::vector<Value> arguments = {x, to.scale};
  if (to.zero.defined()) arguments.push_back(to.zero);
  const auto parameters = [dtype = to.dtype,
                           has_zero = to.zero.defined()](const std::vector<Value>& inputs) {
    return Quantization{inputs[1], has_zero ? inputs[2] : Value(), dtype};
  };
  const FunctionBuilder forward = [=](Graph&, const std::vector<Value>& inputs) {
    const Quantization q = parameters(inputs);
    return std::vector<Value>{dequantized(quantized(inputs[0], q), q)};
  };
  const FunctionBuilder gradient = [=](Graph&, const std::vector<Value>& inputs) {
    const Quantization q = parameters(inputs);
    const IntegerRange range = integer_range(q.dtype);
    Value level = inputs[0] / q.scale;
    if (q.zero.defined()) level = level + cast(q.zero, level.dtype());
    const Value inside = logical_and(level >= static_cast<double>(range.low) - 0.5,
                                     level <= static_cast<double>(range.high) + 0.5);
    std::vector<Value> results(q.zero.defined() ? 3 : 2);
    results[0] = where(inside, inputs.back(), 0.0);
    return results;
  };
  return custom_gradient(n.graph(), "quantize." + n.node().output(0), arguments, forward,
                         gradient)[0];
}

}  // namespace

// -- QuantizeLinear and DequantizeLinear ----------------------------------------------------------

std::vector<ImportedValue> quantize_linear(NodeImport& n) {
  const Value x = n.input(0);
  Quantization to = linear_quantization(n, x);
  n.skip_attribute("saturate");  // for results of 8-bit floats
  const DType output = dtype_unless_0(n, "output_dtype", to.dtype);
  if (to.zero.defined() && output != to.dtype) n.unsupported("output_dtype and another zero point");
  to.dtype = output;
  if (output != DType::u8 && output != DType::i8) {
    n.unsupported(std::string("results of ") + std::string(dtype_name(output)));
  }
  // The division has the precision of the scale.
  const DType precision = dtype_unless_0(n, "precision", to.scale.dtype());
  to.scale = widened(to.scale);
  if (x.dtype() == DType::i32) {  // not every integer is an f32
    to.scale = cast(to.scale, DType::f64);
    return {quantized(cast(x, DType::f64), to)};
  }
  const Value quotient = cast(widened(x), to.scale.dtype()) / to.scale;
  to.scale = Value();
  return {quantized(widened(cast(quotient, precision)), to)};
}

std::vector<ImportedValue> dequantize_linear(NodeImport& n) {
  const Value q = n.input(0), weight = dequantized_weight(n, q);
  if (weight.defined()) return {weight};
  Quantization from = linear_quantization(n, q);
  const DType output = dtype_unless_0(n, "output_dtype", from.scale.dtype());
  from.scale = widened(from.scale);
  const Value x = rounded_by(q, from);
  const Value y = x.defined() ? straight_through(n, x, from) : dequantized(q, from);
  return {cast(y, output)};
}

DynamicQuantization quantized_dynamically(Value x) {
  const Value low = minimum(min(x), 0.0), high = maximum(max(x), 0.0);
  const Value step = (high - low) / 255.0;
  const Value scale = where(equal(step, 0.0), 1.0, step);
  const Value zero = cast(clamp(round(-low / scale), 0.0, 255.0), DType::u8);
  return {quantized(x, {scale, zero}), scale, zero};
}

namespace {

std::vector<ImportedValue> dynamic_quantize_linear(NodeImport& n) {
  const DynamicQuantization result = quantized_dynamically(n.input(0));
  return {result.levels, result.scale, result.zero};
}

// -- Products -------------------------------------------------------------------------------------

// Returns x - zero in f64.
Value exact_difference(Value x, Value zero) {
  const Value wide = cast(x, DType::f64);
  return zero.defined() ? wide - cast(zero, DType::f64) : wide;
}

// Returns a value with one element per row of a matrix, or one element, in a shape that broadcasts
// to the matrix.
Value per_row(Value v) {
  if (!v.defined() || v.rank() != 1) return v;
  return v.size(0) == Dim(1) ? reshape(v, Shape()) : unsqueeze(v, 1);
}

// Converts whole numbers to i32. Numbers that do not fit wrap around.
Value wrapped(Value whole) { return cast(cast(whole, DType::i64), DType::i32); }

// Returns x, which is i8 or u8, minus 128 if it is u8, as i8.
Value signed_bytes(Value x) { return x.dtype() == DType::i8 ? x : cast(x, DType::i8) - (-128); }

// Returns the zero point of operand a as i8, as signed_bytes() returns a. Undefined for 0.
Value signed_zero(Value a, Value zero) {
  if (zero.defined()) return signed_bytes(reshape(zero, Shape()));
  return a.dtype() == DType::u8 ? a.graph().scalar(DType::i8, -128) : Value();
}

// Returns a known matrix b - b_zero [inputs, outputs] in the layout of int8 weights, or nullopt if
// it is not known or does not fit into 8 bits. b_zero has one element, or one per column.
std::optional<Tensor> packed_matrix(NodeImport& n, Value b, Value b_zero) {
  if (b.rank() != 2 || (b_zero.defined() && b_zero.rank() > 1)) return {};
  const std::optional<Tensor> levels = n.known(b);
  const std::optional<Tensor> zeros = b_zero.defined() ? n.known(b_zero) : Tensor();
  if (!levels || !zeros) return {};
  return int8_matrix(*levels, *zeros, /*transposed=*/false);
}

// Returns the product on bytes if b is a known matrix and there is one zero point for a.
Value product_of_bytes(NodeImport& n, Value a, Value a_zero, Value b, Value b_zero) {
  if (a.rank() == 0 || (a.dtype() != DType::i8 && a.dtype() != DType::u8)) return {};
  if (a_zero.defined() && !(a_zero.shape().numel() == Dim(1))) return {};
  const Dim& inputs = a.size(-1);
  if (!inputs.is_constant() || inputs.constant() > kernels::kMaxIntegerInputs) return {};
  const std::optional<Tensor> packed = packed_matrix(n, b, b_zero);
  if (!packed) return {};
  return apply_op(
      "integer_matmul",
      {signed_bytes(a), Value(), n.graph().constant(*packed), Value(), signed_zero(a, a_zero)},
      {{"outputs", b.size(1).constant()}});
}

std::vector<ImportedValue> mat_mul_integer(NodeImport& n) {
  return {integer_product(n, n.input(0), n.optional(2), n.input(1), n.optional(3))};
}

// Returns a value with one element, or one per output channel of a weight or result of a
// convolution, in a shape that broadcasts to it.
Value per_channel(NodeImport& n, Value v, int axis, int rank) {
  return v.defined() ? along_axis(n, v, axis, rank) : v;
}

// Returns the attributes of integer_matmul for a 2-D convolution, or nullopt for one with groups or
// unequal padding.
std::optional<Attributes> byte_windows(NodeImport& n, const Shape& weight) {
  using Numbers = std::vector<std::int64_t>;
  const auto pads = n.integers("pads").value_or(Numbers{0, 0, 0, 0});
  const auto stride = n.integers("strides").value_or(Numbers{1, 1});
  const auto dilation = n.integers("dilations").value_or(Numbers{1, 1});
  const Numbers kernel = {weight[2].constant(), weight[3].constant()};
  if (n.integer("group", 1) != 1 || n.text("auto_pad", "NOTSET") != "NOTSET") return {};
  if (pads.size() != 4 || pads[0] != pads[2] || pads[1] != pads[3]) return {};
  if (stride.size() != 2 || dilation.size() != 2) return {};
  if (n.integers("kernel_shape").value_or(kernel) != kernel) return {};
  const auto all_in = [](const Numbers& numbers, std::int64_t least) {
    return std::all_of(numbers.begin(), numbers.end(),
                       [=](std::int64_t v) { return v >= least && v < std::int64_t{1} << 31; });
  };
  if (!all_in(pads, 0) || !all_in(stride, 1) || !all_in(dilation, 1)) return {};
  return Attributes{{"outputs", weight[0].constant()},
                    {"kernel", kernel},
                    {"stride", stride},
                    {"padding", Numbers{pads[0], pads[1]}},
                    {"dilation", dilation}};
}

// Returns the convolution on bytes if the weight is known.
Value convolution_of_bytes(NodeImport& n, Value x, Value x_zero, Value w, Value w_zero) {
  if (x.rank() != 4 || w.rank() != 4) return {};
  const std::optional<Tensor> levels = n.known(w);
  const std::optional<Tensor> zeros = w_zero.defined() ? n.known(w_zero) : Tensor();
  if (!levels || !zeros || levels->numel() == 0) return {};
  if (levels->numel() / levels->size(0) > kernels::kMaxIntegerInputs) return {};
  const std::optional<Attributes> windows = byte_windows(n, w.shape());
  if (!windows || !(x.size(1) == w.size(1))) return {};
  const std::optional<Tensor> packed = int8_matrix(channels_last_rows(*levels), *zeros, true);
  if (!packed) return {};
  const Value images = permute(signed_bytes(x), {0, 2, 3, 1});
  const Value y = apply_op(
      "integer_matmul",
      {images, Value(), n.graph().constant(*packed), Value(), signed_zero(x, x_zero)}, *windows);
  return permute(y, {0, 3, 1, 2});
}

// Returns the convolution of integers as i32. Padding is 0, the difference of the zero point and
// itself.
Value integer_convolution(NodeImport& n, Value x, Value x_zero, Value w, Value w_zero) {
  if (x_zero.defined()) x_zero = one_element(n, x_zero, "a zero point of x");
  const Value fast = convolution_of_bytes(n, x, x_zero, w, w_zero);
  if (fast.defined()) return fast;
  return wrapped(convolved(n, exact_difference(x, x_zero),
                           exact_difference(w, per_channel(n, w_zero, 0, w.rank()))));
}

std::vector<ImportedValue> conv_integer(NodeImport& n) {
  return {integer_convolution(n, n.input(0), n.optional(2), n.input(1), n.optional(3))};
}

std::vector<ImportedValue> q_linear_conv(NodeImport& n) {
  const int rank = n.input(0).rank();
  Value sum = integer_convolution(n, n.input(0), n.input(2), n.input(3), n.input(5));
  if (n.has(8)) sum = sum + per_channel(n, n.input(8), 1, rank);
  const Value scale = one_element(n, widened(n.buffer(1)), "x_scale") *
                      per_channel(n, widened(n.buffer(4)), 1, rank) /
                      one_element(n, widened(n.buffer(6)), "y_scale");
  const Value zero = one_element(n, n.input(7), "y_zero_point");
  return {quantized(cast(sum, DType::f32) * scale, {Value(), zero, zero.dtype()})};
}

std::vector<ImportedValue> q_linear_mat_mul(NodeImport& n) {
  const Value product = integer_product(n, n.input(0), n.input(2), n.input(3), n.input(5));
  const Value scale = per_row(widened(n.buffer(1))) * widened(n.buffer(4)) /
                      one_element(n, widened(n.buffer(6)), "y_scale");
  const Value zero = one_element(n, n.input(7), "y_zero_point");
  return {quantized(cast(product, DType::f32) * scale, {Value(), zero, zero.dtype()})};
}

}  // namespace

Quantization tensor_quantization(NodeImport& n, std::size_t scale, std::size_t zero, DType dtype) {
  Quantization result{one_element(n, widened(n.buffer(scale)), "a scale"), n.optional(zero), dtype};
  if (result.zero.defined()) {
    result.zero = one_element(n, result.zero, "a zero point");
    result.dtype = result.zero.dtype();
  }
  return result;
}

Value quantized(Value x, const Quantization& to) {
  const IntegerRange range = integer_range(to.dtype);
  Value level = round(to.scale.defined() ? x / to.scale : x);
  if (to.zero.defined()) level = level + cast(to.zero, x.dtype());
  return cast(clamp(level, static_cast<double>(range.low), static_cast<double>(range.high)),
              to.dtype);
}

Value dequantized(Value q, const Quantization& from) {
  const DType dtype = from.scale.dtype();
  if (!from.zero.defined()) return cast(q, dtype) * from.scale;
  if (q.dtype() == DType::i32) return cast(q - cast(from.zero, DType::i32), dtype) * from.scale;
  return (cast(q, dtype) - cast(from.zero, dtype)) * from.scale;
}

Value integer_product(NodeImport& n, Value a, Value a_zero, Value b, Value b_zero) {
  const Value fast = product_of_bytes(n, a, a_zero, b, b_zero);
  if (fast.defined()) return fast;
  return wrapped(matmul(exact_difference(a, per_row(a_zero)), exact_difference(b, b_zero)));
}

std::span<const Operator> quantized_operators() {
  static constexpr Operator kOperators[] = {
      {"ConvInteger", 10, conv_integer},
      {"DequantizeLinear", 10, dequantize_linear},
      {"DynamicQuantizeLinear", 11, dynamic_quantize_linear},
      {"MatMulInteger", 10, mat_mul_integer},
      {"QLinearConv", 10, q_linear_conv},
      {"QLinearMatMul", 10, q_linear_mat_mul},
      {"QuantizeLinear", 10, quantize_linear},
  };
  return kOperators;
}

}  // namespace weft::onnx
