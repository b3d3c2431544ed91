// Reductions of integers and bool, and positions of maxima and minima. These operations are
// memory-bound, so plain loops suffice.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "weft/ops/kernels/reductions/reduce.h"

namespace weft::kernels {
namespace {

template <class T>
T reduce_one(Reduction kind, const T* x, std::int64_t n, std::int64_t stride) {
  if constexpr (std::is_same_v<T, bool>) {
    const bool wanted = kind == Reduction::any;
    for (std::int64_t r = 0; r < n; ++r) {
      if (x[r * stride] == wanted) return wanted;
    }
    return !wanted;
  } else {
    // Unsigned arithmetic wraps around without undefined behaviour.
    std::uint64_t total = kind == Reduction::prod ? 1 : 0;
    T best =
        kind == Reduction::max ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
    for (std::int64_t r = 0; r < n; ++r) {
      const T v = x[r * stride];
      switch (kind) {
        case Reduction::max: best = std::max(best, v); break;
        case Reduction::min: best = std::min(best, v); break;
        case Reduction::prod: total *= static_cast<std::uint64_t>(v); break;
        default: total += static_cast<std::uint64_t>(v); break;
      }
    }
    const bool extreme = kind == Reduction::max || kind == Reduction::min;
    return extreme ? best : static_cast<T>(total);
  }
}

template <class T>
bool beats(T a, T b, bool largest) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(b)) return false;
    if (std::isnan(a)) return true;
  }
  return largest ? a > b : a < b;
}

template <class T>
void arg_columns(bool largest, const T* x, std::int64_t stride, std::int64_t n, std::int64_t width,
                 std::int64_t* out) {
  if (width == 1) {  // a row, without the buffer
    T best = x[0];
    std::int64_t at = 0;
    for (std::int64_t r = 1; r < n; ++r) {
      if (!beats(x[r * stride], best, largest)) continue;
      best = x[r * stride];
      at = r;
    }
    out[0] = at;
    return;
  }
  constexpr std::int64_t kBlock = 256;
  T best[kBlock];
  for (std::int64_t j = 0; j < width; j += kBlock) {
    const std::int64_t size = std::min(kBlock, width - j);
    std::copy_n(x + j, size, best);
    std::fill_n(out + j, size, 0);
    for (std::int64_t r = 1; r < n; ++r) {
      const T* row = x + r * stride + j;
      for (std::int64_t i = 0; i < size; ++i) {
        if (beats(row[i], best[i], largest)) {
          best[i] = row[i];
          out[j + i] = r;
        }
      }
    }
  }
}

template <class T>
constexpr bool kHasKernel = !std::is_same_v<T, BFloat16> && !std::is_same_v<T, Float16>;

}  // namespace

void reduce_integers(Reduction kind, DType dtype, const void* x, std::int64_t outputs,
                     std::int64_t output_stride, std::int64_t length, std::int64_t stride,
                     void* out) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (kHasKernel<T> && !std::is_floating_point_v<T>) {
      for (std::int64_t i = 0; i < outputs; ++i) {
        static_cast<T*>(out)[i] =
            reduce_one(kind, static_cast<const T*>(x) + i * output_stride, length, stride);
      }
    }
  });
}

void arg_reduce_columns(DType dtype, bool largest, const void* x, std::int64_t row_stride,
                        std::int64_t length, std::int64_t width, std::int64_t* out) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (kHasKernel<T>) {
      arg_columns(largest, static_cast<const T*>(x), row_stride, length, width, out);
    }
  });
}

}  // namespace weft::kernels
