// Rows of floats stored as int8 numbers with one scale per row, for key and value caches.
//
// A row of `size` floats is stored in size + 4 bytes: the levels, followed by the scale, an f32 in
// the byte order of the CPU. Rows are rounded as by quantize_rows() with dynamic steps
// (quantize_rows.h); the scale is the step.
#pragma once

#include <cstdint>

#include "weft/ops/kernels/quantized/quantized_weights.h"

namespace weft::kernels {

/// Stores `rows` rows of `size` floats.
void pack_int8_rows(const float* x, std::int64_t rows, std::int64_t size, std::int8_t* out);

/// Converts `rows` rows with `size` levels each back to floats.
void unpack_int8_rows(const std::int8_t* packed, std::int64_t rows, std::int64_t size, float* out);

}  // namespace weft::kernels
