#include "weft/ops/kernels/reductions/cumsum.h"

#include <algorithm>
#include <type_traits>

namespace weft::kernels {
namespace {

template <class T>
void cumsum(const T* x, std::int64_t stride, std::int64_t n, std::int64_t width, bool exclusive,
            bool reverse, T* out) {
  using Sum = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
  constexpr std::int64_t kBlock = 256;
  Sum sums[kBlock];
  for (std::int64_t j = 0; j < width; j += kBlock) {
    const std::int64_t size = std::min(kBlock, width - j);
    std::fill_n(sums, size, Sum(0));
    for (std::int64_t step = 0; step < n; ++step) {
      const std::int64_t r = reverse ? n - 1 - step : step;
      const T* in = x + r * stride + j;
      T* to = out + r * stride + j;
      for (std::int64_t i = 0; i < size; ++i) {
        // `in` is read before `to` is written, because both may refer to the same memory.
        const Sum before = sums[i];
        sums[i] = before + static_cast<Sum>(in[i]);
        to[i] = static_cast<T>(exclusive ? before : sums[i]);
      }
    }
  }
}

}  // namespace

void cumsum_columns(DType dtype, const void* x, std::int64_t row_stride, std::int64_t length,
                    std::int64_t width, bool exclusive, bool reverse, void* out) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
      cumsum(static_cast<const T*>(x), row_stride, length, width, exclusive, reverse,
             static_cast<T*>(out));
    }
  });
}

}  // namespace weft::kernels
