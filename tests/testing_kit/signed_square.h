// A custom kernel written with Highway.
#pragma once

#include <cstddef>
#include <string>

namespace user {

/// y[i] = x[i] |x[i]| for i below n; y may be x.
void signed_square(const float* x, float* y, std::size_t n);
void signed_square(const double* x, double* y, std::size_t n);
/// Returns the name of the SIMD target that is used, for example "AVX2".
std::string signed_square_target();

}  // namespace user
