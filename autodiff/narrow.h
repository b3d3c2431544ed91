// Helpers for the gradients of 16-bit values. Ops accumulate in f32 and f64 only, and a sum should
// be rounded once.
#pragma once

#include "weft/graph/ir/value.h"

namespace WEFT_API weft {

/// Returns true if `v` has a 16-bit floating dtype.
inline bool is_narrow(const Value& v) {
  return v.dtype() == DType::bf16 || v.dtype() == DType::f16;
}

/// Returns `v` cast to f32 if it has 16 bits, otherwise `v` itself. Rules that accumulate
/// cotangents widen them first and return a wide gradient; the gradient transform rounds it to the
/// dtype of the operand.
Value widened(const Value& v);

}  // namespace weft
