// Helpers of translators for dtypes that Weft's floating-point operations do not take.
#pragma once

#include "weft/graph/functions/math.h"

namespace weft::onnx {

/// Returns a floating-point value as f32 if it is f16 or bf16, and any other value unchanged. Most
/// operations take f32 and f64 only.
inline Value widened(Value x) {
  const bool narrow = x.defined() && (x.dtype() == DType::f16 || x.dtype() == DType::bf16);
  return narrow ? cast(x, DType::f32) : x;
}

}  // namespace weft::onnx
