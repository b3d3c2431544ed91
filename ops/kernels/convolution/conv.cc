#include "weft/ops/kernels/convolution/conv.h"

#include <algorithm>

namespace weft::kernels {
namespace {

// Calls fn(offset, input, count) for every run of output positions for which the tap reads from a
// single row of the image. `offset` is relative to position `begin`; `input` is the index in the
// plane.
template <class Fn>
void for_runs(const ConvGeometry& g, std::int64_t tap_y, std::int64_t tap_x, std::int64_t begin,
              std::int64_t end, Fn&& fn) {
  // The output columns x in [first, limit) read input columns x * stride + shift inside the image.
  const std::int64_t shift = tap_x * g.dilation_width - g.padding_width;
  const std::int64_t first = shift >= 0 ? 0 : (-shift + g.stride_width - 1) / g.stride_width;
  const std::int64_t limit = shift >= g.width ? 0 : (g.width - 1 - shift) / g.stride_width + 1;
  for (std::int64_t p = begin; p < end;) {
    const std::int64_t y = p / g.out_width, x = p % g.out_width;
    const std::int64_t row_end = std::min(end, p - x + g.out_width);
    const std::int64_t iy = y * g.stride_height + tap_y * g.dilation_height - g.padding_height;
    if (iy >= 0 && iy < g.height) {
      const std::int64_t from = std::max(x, first);
      const std::int64_t to = std::min(x + row_end - p, limit);
      if (from < to) {
        fn(p - begin + from - x, iy * g.width + from * g.stride_width + shift, to - from);
      }
    }
    p = row_end;
  }
}

template <class T>
void gather(const ConvGeometry& g, const T* image, std::int64_t channels, std::int64_t begin,
            std::int64_t end, T* patches) {
  for (std::int64_t c = 0; c < channels; ++c, image += g.plane()) {
    for (std::int64_t tap_y = 0; tap_y < g.kernel_height; ++tap_y) {
      for (std::int64_t tap_x = 0; tap_x < g.kernel_width; ++tap_x, patches += end - begin) {
        std::fill_n(patches, end - begin, T{0});
        for_runs(g, tap_y, tap_x, begin, end,
                 [&](std::int64_t offset, std::int64_t input, std::int64_t count) {
                   if (g.stride_width == 1) {
                     std::copy_n(image + input, count, patches + offset);
                     return;
                   }
                   for (std::int64_t i = 0; i < count; ++i) {
                     patches[offset + i] = image[input + i * g.stride_width];
                   }
                 });
      }
    }
  }
}

template <class T>
void scatter(const ConvGeometry& g, const T* patches, std::int64_t channels, std::int64_t begin,
             std::int64_t end, T* image) {
  for (std::int64_t c = 0; c < channels; ++c, image += g.plane()) {
    for (std::int64_t tap_y = 0; tap_y < g.kernel_height; ++tap_y) {
      for (std::int64_t tap_x = 0; tap_x < g.kernel_width; ++tap_x, patches += end - begin) {
        for_runs(g, tap_y, tap_x, begin, end,
                 [&](std::int64_t offset, std::int64_t input, std::int64_t count) {
                   for (std::int64_t i = 0; i < count; ++i) {
                     image[input + i * g.stride_width] += patches[offset + i];
                   }
                 });
      }
    }
  }
}

}  // namespace

void gather_patches(const ConvGeometry& g, const float* image, std::int64_t channels,
                    std::int64_t begin, std::int64_t end, float* patches) {
  gather(g, image, channels, begin, end, patches);
}
void gather_patches(const ConvGeometry& g, const double* image, std::int64_t channels,
                    std::int64_t begin, std::int64_t end, double* patches) {
  gather(g, image, channels, begin, end, patches);
}
void scatter_patches(const ConvGeometry& g, const float* patches, std::int64_t channels,
                     std::int64_t begin, std::int64_t end, float* image) {
  scatter(g, patches, channels, begin, end, image);
}
void scatter_patches(const ConvGeometry& g, const double* patches, std::int64_t channels,
                     std::int64_t begin, std::int64_t end, double* image) {
  scatter(g, patches, channels, begin, end, image);
}

}  // namespace weft::kernels
