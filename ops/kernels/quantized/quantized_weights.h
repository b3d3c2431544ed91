// A quantised weight matrix as a kernel argument. The layouts are defined in
// ops/quantized/quantized.h.
#pragma once

#include <cstdint>

namespace weft::kernels {

/// A matrix W [inputs, outputs], stored in panels of 16 outputs.
struct QuantizedWeights {
  const void* q = nullptr;
  const void* scale = nullptr;  // f32 for int8, f16 for int4 and q8_0
  bool int4 = false;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  bool q8_0 = false;
  /// For products of bytes with int8: one integer per output, in whole panels, which is added to
  /// the sums. Null for none.
  const std::int32_t* start = nullptr;
};

/// The number of bytes of the scale at the end of a row of int8 (int8_rows.h).
inline constexpr std::int64_t kRowScaleBytes = 4;

}  // namespace weft::kernels
