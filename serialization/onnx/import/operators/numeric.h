// Helpers of translators for dtypes that Weft's floating-point operations do not take, and for
// attributes of several operators.
#pragma once

#include "weft/graph/functions/math.h"
#include "weft/serialization/onnx/import/node_import.h"

namespace weft::onnx {

/// Returns a floating-point value as f32 if it is f16 or bf16, and any other value unchanged. Most
/// operations take f32 and f64 only.
inline Value widened(Value x) {
  const bool narrow = x.defined() && (x.dtype() == DType::f16 || x.dtype() == DType::bf16);
  return narrow ? cast(x, DType::f32) : x;
}

/// Returns the dtype of an attribute that contains a TensorProto.DataType. Throws FormatError if
/// Weft does not have it.
DType dtype_attribute(NodeImport& node, std::string_view name);
DType dtype_attribute(NodeImport& node, std::string_view name, DType otherwise);

/// Returns the axes of a reduction or normalisation as numbers in [0, rank), without repetition.
std::vector<int> normalised_axes(const NodeImport& node, const std::vector<std::int64_t>& axes,
                                 int rank);

/// Returns the axes from `first` to `end` - 1.
std::vector<int> axes_between(int first, int end);
/// Returns the product of the sizes of these axes.
Dim number_of_elements(const Shape& shape, const std::vector<int>& axes);

/// Broadcasting of opset 6: returns b, whose axes begin at `axis` of a tensor with `rank` axes,
/// with trailing axes of size 1.
Value from_axis(const NodeImport& node, Value b, std::int64_t axis, int rank);

}  // namespace weft::onnx
