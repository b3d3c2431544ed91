// Conversion between tensors of GGUF files and Weft's tensors and quantised matrices.
#pragma once

#include <optional>
#include <string>

#include "weft/core/tensor.h"
#include "weft/ops/quantized/quantized.h"
#include "weft/serialization/gguf/gguf.h"

namespace WEFT_API weft {

/// Returns the values of a tensor as ggml_widened_dtype(). The values have the bits of ggml's
/// dequantisation, including scales that are infinite or NaN. F32, F16 and BF16 tensors are views
/// of the file (copies if the file does not align them); others are new tensors.
Tensor widened(const GgufTensor& tensor);

/// Returns the format of quantised matrices that keeps every bit of an encoding: int4 for Q4_0,
/// q8_0 for Q8_0 and Q5_0 (5-bit levels are 8-bit levels too), and std::nullopt for all others.
std::optional<QuantizedFormat> lossless_format(GgmlType type);
/// As above, but also returns q8_0 for an MXFP4 tensor with scales in the range of f16, which is
/// true for the weights of models. Reads the scales.
std::optional<QuantizedFormat> lossless_format(const GgufTensor& tensor);

/// Returns a tensor [outputs, inputs] as a quantised matrix W [inputs, outputs] in
/// lossless_format(tensor). For a stack of matrices [n, outputs, inputs], q and scale get the same
/// first axis. Levels and scales are moved, not rounded; no f32 copy of the matrix exists. Throws
/// ArgumentError, naming the tensor, if it has no lossless format, and ShapeError if it has
/// fewer than two axes.
QuantizedMatrix repacked(const GgufTensor& tensor);

/// Encodes an f32, f16 or bf16 tensor as F32, F16, BF16, Q8_0 or Q4_0. F32, F16 and BF16 round to
/// nearest even; Q8_0 and Q4_0 are quantize_matrix() with q8_0 and int4. If the tensor already has
/// the dtype, the data is shared. Throws, naming the tensor, ArgumentError for another type,
/// DTypeError for another dtype, ShapeError if the last axis of Q8_0 or Q4_0 is not a multiple of
/// 32 or if there are fewer than two axes, and DataError as quantize_matrix() or if a finite value
/// is out of the range of F16.
GgufTensor encoded(std::string name, const Tensor& tensor, GgmlType type);
/// Returns a quantised matrix W [inputs, outputs], or a stack of them, as a tensor [outputs,
/// inputs] of type Q8_0 (q8_0) or Q4_0 (int4): the inverse of repacked(). Q8_0 and Q4_0 tensors get
/// back the same bytes. Throws, naming the tensor, ArgumentError for int8, and ShapeError if
/// `inputs` is not a multiple of 32 or if the sizes of the matrix are others.
GgufTensor encoded(std::string name, const QuantizedMatrix& matrix, std::int64_t inputs,
                   std::int64_t outputs);

}  // namespace weft
