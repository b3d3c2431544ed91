// A quantised weight matrix as an argument of kernels. The layouts are those of ops/quantized.h.
#pragma once

#include <cstdint>

namespace weft::kernels {

/// W [inputs, outputs] in panels of 16 outputs.
struct QuantizedWeights {
  const void* q = nullptr;
  const void* scale = nullptr;  // f32 (int8), f16 (int4)
  bool int4 = false;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
};

}  // namespace weft::kernels
