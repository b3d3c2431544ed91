#include "weft/ops/kernels/convolution/max_pool.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/convolution/max_pool.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must be included before the header below.
#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

using kernels::PoolGeometry;

// Returns the first element of `from` and every following or second element. Reads no element after
// the last of them.
template <class D, class T = hn::TFromD<D>>
HWY_INLINE hn::Vec<D> load_windows(D d, const T* from, [[maybe_unused]] int64_t stride) {
#if HWY_TARGET != HWY_SCALAR
  if (stride == 2) {
    // The second vector begins one element earlier, because the last element of the plane may be
    // the last to be read. Its odd lanes are the wanted elements.
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto low = hn::LoadU(d, from), high = hn::LoadU(d, from + lanes - 1);
    return hn::ConcatUpperLower(d, hn::ConcatOdd(d, high, high), hn::ConcatEven(d, low, low));
  }
#endif
  return hn::LoadU(d, from);
}

template <class T>
void max_pool(const PoolGeometry& g, const T* x, T* out) {
  const Full<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const bool vectors = g.stride_width == 1 || (g.stride_width == 2 && lanes > 1);
  // The windows [first, limit) of a row are inside the plane.
  const int64_t first = (g.padding_width + g.stride_width - 1) / g.stride_width;
  const int64_t room = g.width + g.padding_width - g.kernel_width;
  const int64_t limit = room < 0 ? 0 : HWY_MIN(room / g.stride_width + 1, g.out_width);
  for (int64_t oy = 0; oy < g.out_height; ++oy, out += g.out_width) {
    const int64_t top = oy * g.stride_height - g.padding_height;
    const int64_t y0 = HWY_MAX(top, int64_t{0}), y1 = HWY_MIN(top + g.kernel_height, g.height);
    for (int64_t ox = 0; ox < g.out_width;) {
      const int64_t left = ox * g.stride_width - g.padding_width;
      if (vectors && ox >= first && ox + lanes <= limit) {
        auto best = load_windows(d, x + y0 * g.width + left, g.stride_width);
        for (int64_t y = y0; y < y1; ++y) {
          for (int64_t i = 0; i < g.kernel_width; ++i) {
            const auto v = load_windows(d, x + y * g.width + left + i, g.stride_width);
            // A NaN is selected and then kept.
            const auto replaces = hn::AndNot(hn::Le(v, best), hn::Eq(best, best));
            best = hn::IfThenElse(replaces, v, best);
          }
        }
        hn::StoreU(best, d, out + ox);
        ox += lanes;
        continue;
      }
      const int64_t x0 = HWY_MAX(left, int64_t{0}), x1 = HWY_MIN(left + g.kernel_width, g.width);
      T best = x[y0 * g.width + x0];
      for (int64_t y = y0; y < y1; ++y) {
        for (int64_t i = y * g.width + x0; i < y * g.width + x1; ++i)
          if (!(x[i] <= best) && best == best) best = x[i];
      }
      out[ox++] = best;
    }
  }
}

void max_pool_f32(const PoolGeometry& g, const float* x, float* out) { max_pool(g, x, out); }
void max_pool_f64(const PoolGeometry& g, const double* x, double* out) { max_pool(g, x, out); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {
HWY_EXPORT(max_pool_f32);
HWY_EXPORT(max_pool_f64);
}  // namespace

namespace kernels {
void max_pool_values(const PoolGeometry& g, const float* x, float* out) {
  HWY_DYNAMIC_DISPATCH(max_pool_f32)(g, x, out);
}
void max_pool_values(const PoolGeometry& g, const double* x, double* out) {
  HWY_DYNAMIC_DISPATCH(max_pool_f64)(g, x, out);
}
}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE
