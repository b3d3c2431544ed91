// A custom kernel written with Highway.
#pragma once

#include <cstddef>
#include <string>

namespace user {

/// Sets y[i] = x[i] |x[i]| for all i below n. y may be the same array as x.
void signed_square(const float* x, float* y, std::size_t n);
void signed_square(const double* x, double* y, std::size_t n);
/// Returns the name of the SIMD target in use, for example "AVX2".
std::string signed_square_target();

}  // namespace user
