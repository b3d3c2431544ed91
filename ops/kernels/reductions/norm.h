// Layer norm and RMS norm over rows, forward and backward, in float and double.
#pragma once

#include <cstdint>

namespace weft {

/// Normalises rows of n contiguous elements. Pointers are null for absent operands and for results
/// that are not needed:
///   centered:  y = (x - mean) * rstd * gain + bias,  rstd = 1/sqrt(mean((x - mean)^2) + eps)
///   otherwise: the same formula with mean = 0 (RMS norm).
template <class T>
struct NormRows {
  const T* x = nullptr;
  const T* gain = nullptr;  // [n]
  const T* bias = nullptr;  // [n]
  T* y = nullptr;
  T* mean = nullptr;  // [rows]
  T* rstd = nullptr;  // [rows]
  std::int64_t n = 0;
  double eps = 0;
  bool centered = true;
};
void norm_rows(const NormRows<float>& args, std::int64_t begin, std::int64_t end);
void norm_rows(const NormRows<double>& args, std::int64_t begin, std::int64_t end);

/// Gradients of norm_rows. With xhat = (x - mean) * rstd and h = g * gain:
///   dx = rstd * (h - mean(h) - xhat * mean(h * xhat))   (without mean(h) if not centered)
/// Summed over the rows of the call, dgain = sum(g * xhat) and dbias = sum(g). Both are
/// overwritten.
template <class T>
struct NormGradRows {
  const T* g = nullptr;
  const T* x = nullptr;
  const T* gain = nullptr;
  const T* mean = nullptr;  // null if not centered
  const T* rstd = nullptr;
  T* dx = nullptr;
  std::int64_t n = 0;
  bool centered = true;
};
void norm_grad_rows(const NormGradRows<float>& args, std::int64_t begin, std::int64_t end,
                    float* dgain, float* dbias);
void norm_grad_rows(const NormGradRows<double>& args, std::int64_t begin, std::int64_t end,
                    double* dgain, double* dbias);

}  // namespace weft
