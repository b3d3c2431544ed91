// Gradients of 16-bit values: ops add up in f32 and f64 only, and a sum should be rounded once.
#pragma once

#include "weft/graph/ir/value.h"

namespace WEFT_API weft {

/// Of 16 bits.
inline bool is_narrow(const Value& v) {
  return v.dtype() == DType::bf16 || v.dtype() == DType::f16;
}

/// `v` in a dtype that ops compute with: f32 where it has 16 bits, else as it is. Rules that add up
/// cotangents take them so; the transform rounds what they return.
Value widened(const Value& v);

}  // namespace weft
