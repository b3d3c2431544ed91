// Quantised operators of com.microsoft, as ONNX Runtime's quantiser writes them.
#include <algorithm>

#include "weft/graph/functions.h"
#include "weft/ops/quantized/quantized.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/numeric.h"
#include "weft/serialization/onnx/import/operators/quantized.h"

namespace weft::onnx {
namespace {

// Returns the numbers that operands `first` (levels), `first + 1` (scale) and `first + 2` (zero
// point) represent.
Value quantized_operand(NodeImport& n, std::size_t first) {
  return dequantized(n.input(first), tensor_quantization(n, first + 1, first + 2));
}

// Returns `y` rounded to the scale and zero point in operands `first` and `first + 1`.
std::vector<ImportedValue> quantized_result(NodeImport& n, Value y, std::size_t first,
                                            DType dtype) {
  return {quantized(y, tensor_quantization(n, first, first + 1, dtype))};
}

// -- Elementwise operators, pooling and concatenation ---------------------------------------------

std::vector<ImportedValue> q_linear_add(NodeImport& n) {
  return quantized_result(n, quantized_operand(n, 0) + quantized_operand(n, 3), 6,
                          n.input(0).dtype());
}

std::vector<ImportedValue> q_linear_mul(NodeImport& n) {
  return quantized_result(n, quantized_operand(n, 0) * quantized_operand(n, 3), 6,
                          n.input(0).dtype());
}

std::vector<ImportedValue> q_linear_sigmoid(NodeImport& n) {
  return quantized_result(n, sigmoid(quantized_operand(n, 0)), 3, n.input(0).dtype());
}

std::vector<ImportedValue> q_linear_leaky_relu(NodeImport& n) {
  return quantized_result(n, leaky_relu(quantized_operand(n, 0), n.real("alpha", 0.01)), 3,
                          n.input(0).dtype());
}

std::vector<ImportedValue> q_linear_softmax(NodeImport& n) {
  const Value x = quantized_operand(n, 0);
  const int axis = n.axis("axis", -1, x.rank());
  // Before opset 13, all axes from `axis` on are one.
  if (n.integer("opset") >= 13 || axis + 1 == x.rank())
    return quantized_result(n, softmax(x, axis), 3, n.input(0).dtype());
  const Value y = reshape(softmax(flatten(x, axis), axis), x.shape());
  return quantized_result(n, y, 3, n.input(0).dtype());
}

std::vector<ImportedValue> q_linear_global_average_pool(NodeImport& n) {
  const Value x = quantized_operand(n, 0);
  const bool channels_last = n.flag("channels_last");
  std::vector<int> axes;
  for (int i = 2; i < x.rank(); ++i) axes.push_back(channels_last ? i - 1 : i);
  return quantized_result(n, mean(x, axes, /*keepdims=*/true), 3, n.input(0).dtype());
}

std::vector<ImportedValue> q_linear_reduce_mean(NodeImport& n) {
  const Value x = quantized_operand(n, 0);
  std::vector<int> axes;
  for (const std::int64_t axis : n.integers("axes").value_or(std::vector<std::int64_t>()))
    axes.push_back(n.normalised_axis(axis, x.rank()));
  const bool keepdims = n.flag("keepdims", true);
  const Value y = mean(x, axes.empty() ? Axes() : Axes(axes), keepdims);
  return quantized_result(n, y, 3, n.input(0).dtype());
}

std::vector<ImportedValue> q_linear_where(NodeImport& n) {
  const Value y = where(n.input(0), quantized_operand(n, 1), quantized_operand(n, 4));
  return quantized_result(n, y, 7, n.input(1).dtype());
}

std::vector<ImportedValue> q_linear_concat(NodeImport& n) {
  std::vector<Value> xs;
  for (std::size_t i = 2; i + 2 < n.input_count(); i += 3) xs.push_back(quantized_operand(n, i));
  if (xs.empty() || n.input_count() % 3 != 2) n.unsupported("an incomplete list of tensors");
  const int axis = n.axis("axis", 0, xs[0].rank());
  return quantized_result(n, concat(xs, axis), 0, n.input(2).dtype());
}

// -- Products -------------------------------------------------------------------------------------

// Returns a scale or bias with one element, or one per column.
Value per_column(NodeImport& n, Value v) { return along_axis(n, v, -1, 1); }

Value with_bias(Value y, Value bias) { return bias.defined() ? y + bias : y; }

std::vector<ImportedValue> mat_mul_integer_to_float(NodeImport& n) {
  const Value product = integer_product(n, n.input(0), n.optional(4), n.input(1), n.optional(5));
  const Value a_scale = widened(n.buffer(2)), b_scale = widened(n.buffer(3));
  const Value scale = along_axis(n, a_scale, -2, product.rank()) * per_column(n, b_scale);
  const Value y = with_bias(cast(product, DType::f32) * scale, widened(n.optional(6)));
  return {cast(y, n.input(2).dtype())};
}

std::vector<ImportedValue> dynamic_quantize_mat_mul(NodeImport& n) {
  const Value x = n.input(0);
  const DynamicQuantization a = quantized_dynamically(x);
  const Value product = integer_product(n, a.levels, a.zero, n.input(1), n.optional(3));
  const Value scale = a.scale * per_column(n, n.buffer(2));
  return {with_bias(cast(product, DType::f32) * scale, n.optional(4))};
}

std::vector<ImportedValue> q_gemm(NodeImport& n) {
  const bool trans_a = n.flag("transA"), trans_b = n.flag("transB");
  const auto oriented = [](Value v, bool swap) { return swap ? transpose(v) : v; };
  Value product = integer_product(n, oriented(n.input(0), trans_a), n.optional(2),
                                  oriented(n.input(3), trans_b), n.optional(5));
  if (n.has(6)) product = product + n.input(6);  // i32, in units of the product's scale
  const Value scale = along_axis(n, n.buffer(1), 0, 2) * per_column(n, n.buffer(4));
  const Value y = cast(product, DType::f32) * (scale * n.real("alpha", 1.0));
  if (!n.has(7)) return {y};
  return quantized_result(n, y, 7, n.input(0).dtype());
}

// -- Weights of a few bits ------------------------------------------------------------------------

// Returns numbers of `bits` bits, packed into bytes along the last axis, lowest bits first, as u8.
Value unpacked_bits(Value bytes, std::int64_t bits, const Dim& count) {
  if (bits == 8) return slice(bytes, -1, {.begin = Dim(0), .end = count});
  std::vector<Value> parts;
  Value rest = cast(bytes, DType::i32);
  const std::int64_t base = std::int64_t{1} << bits;
  for (std::int64_t i = 0; i < 8 / bits; ++i) {
    const Value next = rest / base;
    parts.push_back(rest - next * base);
    rest = next;
  }
  return slice(flatten(stack(parts, bytes.rank()), -2, -1), -1, {.begin = Dim(0), .end = count});
}

// Returns known weights of 4 bits, without zero points, as variables in Weft's format int4, which
// has one scale for 32 inputs. Undefined if the format cannot represent the scales.
Value int4_weight(NodeImport& n, std::int64_t inputs, std::int64_t outputs, std::int64_t block) {
  if (block % kQuantizedGroup != 0) return {};
  const std::optional<Tensor> bytes = n.known_if_any(1), scales = n.known_if_any(2);
  const std::int64_t blocks = (inputs + block - 1) / block;
  if (!bytes || bytes->dtype() != DType::u8 || bytes->numel() != outputs * blocks * block / 2)
    return {};
  if (!scales || scales->numel() != outputs * blocks) return {};
  const Tensor wide = scales->to(DType::f32);
  Tensor q = Tensor::zeros(DType::u8, quantized_sizes(QuantizedFormat::int4, inputs, outputs));
  Tensor scale =
      Tensor::zeros(DType::f16, quantized_scale_sizes(QuantizedFormat::int4, inputs, outputs));
  const QuantizedGroups groups(QuantizedFormat::int4, inputs, q.mutable_raw(),
                               scale.mutable_data<Float16>());
  for (std::int64_t j = 0; j < outputs; ++j) {
    for (std::int64_t first = 0; first < inputs; first += kQuantizedGroup) {
      const float exact = wide.data<float>()[j * blocks + first / block];
      QuantizedGroup group{.scale = to_float16(exact)};
      if (to_float(group.scale) != exact) return {};
      const std::int64_t count = std::min(kQuantizedGroup, inputs - first);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t at = j * blocks * block + first + i;
        const std::uint8_t byte = bytes->data<std::uint8_t>()[at / 2];
        const int level = at % 2 == 0 ? byte & 15 : byte >> 4;
        group.levels[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(level - 8);
      }
      groups.set(j, first / kQuantizedGroup, group);
    }
  }
  const std::string& name = n.node().input(1);
  return apply_op("dequantize",
                  {n.add_buffer(name + ".q", q), n.add_buffer(name + ".scale", scale)},
                  {{"inputs", inputs}, {"outputs", outputs}});
}

std::vector<ImportedValue> mat_mul_n_bits(NodeImport& n) {
  const std::int64_t inputs = n.integer("K"), outputs = n.integer("N");
  const std::int64_t bits = n.integer("bits", 4), block = n.integer("block_size");
  n.skip_attribute("accuracy_level");  // the least precision of the computation
  if (bits != 2 && bits != 4 && bits != 8) n.unsupported("bits other than 2, 4 and 8");
  if (n.has(4)) n.unsupported("g_idx");
  if (inputs <= 0 || outputs <= 0 || block < 16) n.unsupported("empty matrices or small blocks");
  const Value x = n.input(0);
  if (bits == 4 && !n.has(3)) {
    const Value w = int4_weight(n, inputs, outputs, block);
    if (w.defined()) {
      n.skip_input(1);
      n.skip_input(2);
      const Value product = matmul(widened(x), w);
      return {cast(with_bias(product, widened(n.optional(5))), x.dtype())};
    }
  }
  const std::int64_t blocks = (inputs + block - 1) / block;
  const Value levels = cast(
      unpacked_bits(reshape(n.input(1), {outputs, blocks, block * bits / 8}), bits, Dim(block)),
      DType::f32);
  const Value scale = reshape(widened(n.buffer(2)), {outputs, blocks, 1});
  Value difference;
  if (!n.has(3)) {
    difference = levels - static_cast<double>(std::int64_t{1} << (bits - 1));
  } else {
    Value zero = n.buffer(3);
    if (zero.dtype() == DType::u8) {
      const std::int64_t bytes = (blocks * bits + 7) / 8;
      zero = unpacked_bits(reshape(zero, {outputs, bytes}), bits, Dim(blocks));
    }
    difference = levels - cast(reshape(zero, {outputs, blocks, 1}), DType::f32);
  }
  const Value w = slice(reshape(difference * scale, {outputs, blocks * block}), 1,
                        {.begin = Dim(0), .end = Dim(inputs)});
  const Value product = matmul(widened(x), w, {.transpose_b = true});
  return {cast(with_bias(product, widened(n.optional(5))), x.dtype())};
}

}  // namespace

std::span<const Operator> microsoft_quantized_operators() {
  static constexpr Operator kOperators[] = {
      {"DequantizeLinear", 1, dequantize_linear},
      {"DynamicQuantizeMatMul", 1, dynamic_quantize_mat_mul},
      {"MatMulIntegerToFloat", 1, mat_mul_integer_to_float},
      {"MatMulNBits", 1, mat_mul_n_bits},
      {"QGemm", 1, q_gemm},
      {"QLinearAdd", 1, q_linear_add},
      {"QLinearConcat", 1, q_linear_concat},
      {"QLinearGlobalAveragePool", 1, q_linear_global_average_pool},
      {"QLinearLeakyRelu", 1, q_linear_leaky_relu},
      {"QLinearMul", 1, q_linear_mul},
      {"QLinearReduceMean", 1, q_linear_reduce_mean},
      {"QLinearSigmoid", 1, q_linear_sigmoid},
      {"QLinearSoftmax", 1, q_linear_softmax},
      {"QLinearWhere", 1, q_linear_where},
      {"QuantizeLinear", 1, quantize_linear},
  };
  return kOperators;
}

}  // namespace weft::onnx
