// Pooling kernels. They are plain loops, because windows have few elements and pooling accounts for
// a small part of a network's run time.
#include "weft/ops/kernels/convolution/pool.h"

#include <algorithm>

namespace weft::kernels {
namespace {

// Calls fn(position, y0, y1, x0, x1) for every output position. [y0, y1) x [x0, x1) is the part of
// the window that is inside the plane.
template <class Fn>
void for_windows(const PoolGeometry& g, Fn&& fn) {
  for (std::int64_t oy = 0; oy < g.out_height; ++oy) {
    const std::int64_t top = oy * g.stride_height - g.padding_height;
    const std::int64_t y0 = std::max<std::int64_t>(top, 0);
    const std::int64_t y1 = std::min(top + g.kernel_height, g.height);
    for (std::int64_t ox = 0; ox < g.out_width; ++ox) {
      const std::int64_t left = ox * g.stride_width - g.padding_width;
      fn(oy * g.out_width + ox, y0, y1, std::max<std::int64_t>(left, 0),
         std::min(left + g.kernel_width, g.width));
    }
  }
}

template <class T>
void max_pool(const PoolGeometry& g, const T* x, T* out, std::int64_t* index) {
  for_windows(g, [&](std::int64_t position, std::int64_t y0, std::int64_t y1, std::int64_t x0,
                     std::int64_t x1) {
    std::int64_t best = y0 * g.width + x0;
    for (std::int64_t y = y0; y < y1; ++y) {
      for (std::int64_t i = y * g.width + x0; i < y * g.width + x1; ++i) {
        // The condition is written so that a NaN is selected and then kept.
        if (!(x[i] <= x[best]) && x[best] == x[best]) best = i;
      }
    }
    if (out != nullptr) out[position] = x[best];
    if (index != nullptr) index[position] = best;
  });
}

template <class T>
void avg_pool(const PoolGeometry& g, const T* x, T* out) {
  const T area = static_cast<T>(g.kernel_height * g.kernel_width);
  for_windows(g, [&](std::int64_t position, std::int64_t y0, std::int64_t y1, std::int64_t x0,
                     std::int64_t x1) {
    T sum{0};
    for (std::int64_t y = y0; y < y1; ++y) {
      for (std::int64_t i = y * g.width + x0; i < y * g.width + x1; ++i) sum += x[i];
    }
    out[position] = sum / area;
  });
}

template <class T>
void avg_pool_grad(const PoolGeometry& g, const T* cotangent, T* dx) {
  const T area = static_cast<T>(g.kernel_height * g.kernel_width);
  std::fill_n(dx, g.height * g.width, T{0});
  for_windows(g, [&](std::int64_t position, std::int64_t y0, std::int64_t y1, std::int64_t x0,
                     std::int64_t x1) {
    const T part = cotangent[position] / area;
    for (std::int64_t y = y0; y < y1; ++y) {
      for (std::int64_t i = y * g.width + x0; i < y * g.width + x1; ++i) dx[i] += part;
    }
  });
}

}  // namespace

void max_pool_plane(const PoolGeometry& g, const float* x, float* out, std::int64_t* index) {
  max_pool(g, x, out, index);
}
void max_pool_plane(const PoolGeometry& g, const double* x, double* out, std::int64_t* index) {
  max_pool(g, x, out, index);
}
void avg_pool_plane(const PoolGeometry& g, const float* x, float* out) { avg_pool(g, x, out); }
void avg_pool_plane(const PoolGeometry& g, const double* x, double* out) { avg_pool(g, x, out); }
void avg_pool_grad_plane(const PoolGeometry& g, const float* cotangent, float* dx) {
  avg_pool_grad(g, cotangent, dx);
}
void avg_pool_grad_plane(const PoolGeometry& g, const double* cotangent, double* dx) {
  avg_pool_grad(g, cotangent, dx);
}

}  // namespace weft::kernels
