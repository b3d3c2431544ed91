// Conversion of quantised weights to the layout that products of integers read.
#pragma once

#include <optional>

#include "weft/core/tensor.h"

namespace weft::onnx {

/// Returns the matrix levels - zeros, as rows of inputs or, if transposed, rows of outputs, in the
/// layout of int8 weights; nullopt if it does not fit into 8 bits. The zero points are undefined,
/// one number, or one per output.
std::optional<Tensor> int8_matrix(const Tensor& levels, const Tensor& zeros, bool transposed);

/// Returns weights of 8 bits [O, C, kh, kw] as a matrix [O, kh * kw * C].
Tensor channels_last_rows(const Tensor& w);

}  // namespace weft::onnx
