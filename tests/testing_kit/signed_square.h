// A kernel of a user's own in Highway.
#pragma once

#include <cstddef>
#include <string>

namespace user {

/// y[i] = x[i] |x[i]| for i below n; y may be x.
void signed_square(const float* x, float* y, std::size_t n);
void signed_square(const double* x, double* y, std::size_t n);
/// What it runs on: "AVX2".
std::string signed_square_target();

}  // namespace user
