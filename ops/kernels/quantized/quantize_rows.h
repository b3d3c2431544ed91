// Rounding of rows to signed integers of 8 bits (levels) times a step.
//
// A row is divided by its step, rounded to nearest (ties to even), and clamped to [-127, 127]:
//   dynamic  step = max |x| / 127, and levels are round(x * (127 / max |x|)). If max |x| is below
//            2^-100, the step and the levels are 0.
//   static   step = *scale, and levels are round(x * (1 / step)). If the step is not in [2^-100,
//            2^100], it is replaced by NaN.
// If a row contains NaN, or with dynamic steps an infinity, its step is NaN and its levels are 0.
// The operations are single roundings of the dtype, so all SIMD targets return the same bits.
#pragma once

#include <cstdint>

namespace weft::kernels {

/// Writes the levels and the steps of rows of n elements. A null result is not computed. `scale` is
/// null for dynamic steps.
void quantize_rows(const float* x, std::int64_t rows, std::int64_t n, const float* scale,
                   std::int8_t* levels, float* steps);

/// Writes y = levels * step. y may be equal to x.
void fake_quantize_rows(const float* x, std::int64_t rows, std::int64_t n, const float* scale,
                        float* y);
void fake_quantize_rows(const double* x, std::int64_t rows, std::int64_t n, const double* scale,
                        double* y);

}  // namespace weft::kernels
