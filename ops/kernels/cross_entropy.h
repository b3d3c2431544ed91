// Kernels of cross-entropy on a matrix of logits: log-sum-exp, sum, and the softmax part of the
// gradient, with classes along contiguous rows or along strided columns, in float and double.
#pragma once

#include <cstdint>

namespace weft {

/// Computes lse = max + ln(sum(exp(x - max))) and the sum of the logits. Logits are [n, stride]
/// (classes along columns) or rows of n classes (stride 1, one column per row). `sum` may be null.
template <class T>
struct LogitsStats {
  const T* x = nullptr;
  T* lse = nullptr;
  T* sum = nullptr;
  std::int64_t n = 0;
};
void logits_rows(const LogitsStats<float>& args, std::int64_t rows);
void logits_rows(const LogitsStats<double>& args, std::int64_t rows);
void logits_columns(const LogitsStats<float>& args, std::int64_t stride, std::int64_t begin,
                    std::int64_t end);
void logits_columns(const LogitsStats<double>& args, std::int64_t stride, std::int64_t begin,
                    std::int64_t end);

/// Computes dx = g * (exp(x - lse) - shift), with g and lse per position. For a position with g =
/// 0, dx is zeros.
template <class T>
struct LogitsGrad {
  const T* x = nullptr;
  const T* lse = nullptr;
  const T* g = nullptr;
  T* dx = nullptr;
  std::int64_t n = 0;
  T shift = 0;
};
void logits_grad_rows(const LogitsGrad<float>& args, std::int64_t rows);
void logits_grad_rows(const LogitsGrad<double>& args, std::int64_t rows);
void logits_grad_columns(const LogitsGrad<float>& args, std::int64_t stride, std::int64_t begin,
                         std::int64_t end);
void logits_grad_columns(const LogitsGrad<double>& args, std::int64_t stride, std::int64_t begin,
                         std::int64_t end);

}  // namespace weft
