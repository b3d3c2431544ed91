// Kernels for cross-entropy on a matrix of logits in float and double: log-sum-exp, sum, and the
// softmax part of the gradient. Classes are along contiguous rows or strided columns.
#pragma once

#include <cstdint>

namespace weft {

/// Computes max, log_sum = ln(sum(exp(x - max))) and excess = sum(x - max). The log-sum-exp of the
/// logits is max + log_sum. The terms are kept apart, because a loss that is computed from their
/// rounded sum loses digits if the logits have a large common offset. If max is -inf, log_sum and
/// excess are computed without subtracting it. The logits are a matrix [n, stride] with classes
/// along columns, or rows of n contiguous classes (stride 1). `excess` may be null.
template <class T>
struct LogitsStats {
  const T* x = nullptr;
  T* max = nullptr;
  double* log_sum = nullptr;
  T* excess = nullptr;
  std::int64_t n = 0;
};
void logits_rows(const LogitsStats<float>& args, std::int64_t rows);
void logits_rows(const LogitsStats<double>& args, std::int64_t rows);
void logits_columns(const LogitsStats<float>& args, std::int64_t stride, std::int64_t begin,
                    std::int64_t end);
void logits_columns(const LogitsStats<double>& args, std::int64_t stride, std::int64_t begin,
                    std::int64_t end);

/// Returns the loss (1 - e) * (lse - target) + e * (lse - mean of the logits) of one position, with
/// e = smoothing and the statistics of LogitsStats. Differences of logits are formed first, so the
/// loss does not depend on a common offset of the logits.
template <class T>
double logits_loss(T max, double log_sum, T excess, T target, std::int64_t n, double smoothing) {
  const double loss = log_sum + (static_cast<double>(max) - static_cast<double>(target));
  if (smoothing == 0) return loss;
  const double mean = static_cast<double>(excess) / static_cast<double>(n);
  return (1 - smoothing) * loss + smoothing * (log_sum - mean);
}

/// Computes the sum of the targets t at each position, and distance = the sum of t * (max - x) over
/// the classes with t != 0, where max is the largest logit. The layouts are those of LogitsStats.
/// If `distance` is null, only the sum is computed, and x and max may be null.
template <class T>
struct TargetStats {
  const T* x = nullptr;
  const T* t = nullptr;
  const T* max = nullptr;
  double* total = nullptr;
  double* distance = nullptr;
  std::int64_t n = 0;
};
void target_rows(const TargetStats<float>& args, std::int64_t rows);
void target_rows(const TargetStats<double>& args, std::int64_t rows);
void target_columns(const TargetStats<float>& args, std::int64_t stride, std::int64_t begin,
                    std::int64_t end);
void target_columns(const TargetStats<double>& args, std::int64_t stride, std::int64_t begin,
                    std::int64_t end);

/// Computes dx = g * (p - shift) with the probabilities p = exp(x - lse), with one g and one lse
/// per position. The rounding of a large
/// lse is corrected (see kLargeLse). If g is 0 at a position, dx is zero there.
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
