// Kernels for cross-entropy on a matrix of logits in float and double: log-sum-exp, sum, and the
// softmax part of the gradient. Classes are along contiguous rows or strided columns.
#pragma once

#include <cstdint>

namespace weft {

/// Computes lse = max + ln(sum(exp(x - max))) and the sum of the logits. The logits are a matrix
/// [n, stride] with classes along columns, or rows of n contiguous classes (stride 1). `sum` may be
/// null.
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

/// Computes dx = g * (exp(x - lse) - shift), with one g and one lse per position. If g is 0 at a
/// position, dx is zero there.
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
