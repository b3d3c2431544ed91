// What cross-entropy needs of a matrix of logits: log-sum-exp, sum, and the softmax part of the
// gradient; classes along contiguous rows or down strided columns; float and double.
#pragma once

#include <cstdint>

namespace weft {

/// Logits [n, stride] (classes down the columns) or rows of n classes (stride 1, one column per
/// row). lse = max + ln(sum(exp(x - max))); sum = sum of the logits. `sum` may be null.
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

/// dx = g * (exp(x - lse) - shift), g and lse per position; a position with g = 0 gives zeros.
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
