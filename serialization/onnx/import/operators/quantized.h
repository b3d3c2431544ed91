// Arithmetic of quantised tensors, for the translators of both domains. A quantised tensor holds
// integers q, which represent the numbers scale * (q - zero).
#pragma once

#include <vector>

#include "weft/serialization/onnx/import/node_import.h"

namespace weft::onnx {

/// The parameters of a quantised tensor, in shapes that broadcast to it.
struct Quantization {
  Value scale;  // f32
  Value zero;   // i8, u8 or i32; undefined for 0
  DType dtype = DType::u8;
};

/// Returns the parameters in operands `scale` and `zero`, each with one element, for a tensor of
/// dtype `dtype` (the dtype of the zero point if there is one).
Quantization tensor_quantization(NodeImport& n, std::size_t scale, std::size_t zero,
                                 DType dtype = DType::u8);

/// Returns saturate(round(x / scale) + zero), with ties to even. x is f32 or f64.
Value quantized(Value x, const Quantization& to);
/// Returns (q - zero) * scale with the dtype of the scale. The difference is exact.
Value dequantized(Value q, const Quantization& from);

/// Returns x without axes, if it has one element, or otherwise as a vector along `axis` of a tensor
/// with `rank` axes.
Value along_axis(NodeImport& n, Value x, int axis, int rank);

/// The results of DynamicQuantizeLinear: levels (u8) and parameters with one element for the range
/// of x, extended to contain 0.
struct DynamicQuantization {
  Value levels, scale, zero;
};
DynamicQuantization quantized_dynamically(Value x);

/// Returns the product of integers (a - a_zero) (b - b_zero) of matrices, with NumPy's rules, as
/// i32. Undefined zero points are 0. A zero point of `a` has one element, or one per row; a zero
/// point of `b` has one element, or one per column. Sums wrap around at 32 bits.
Value integer_product(NodeImport& n, Value a, Value a_zero, Value b, Value b_zero);

// Translators of operators that com.microsoft repeats.
std::vector<ImportedValue> quantize_linear(NodeImport& n);
std::vector<ImportedValue> dequantize_linear(NodeImport& n);

}  // namespace weft::onnx
