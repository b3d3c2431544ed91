#include "weft/ops/quantized/byte_patches.h"

#include <algorithm>
#include <cstring>

namespace weft {

std::optional<Windows> optional_windows(const Attributes& attributes) {
  if (attributes.integers("kernel").empty()) return {};
  const auto kernel = window_pair(attributes, "kernel", 1);
  return Windows(attributes, kernel[0], kernel[1]);
}

BytePatches::BytePatches(const Windows& w, const Sizes& images)
    : windows(w), height(images[1]), width(images[2]), channels(images[3]) {
  const auto positions = w.positions(Dim(height), Dim(width));
  out_height = positions[0].constant();
  out_width = positions[1].constant();
}

void BytePatches::gather(const std::int8_t* images, std::int64_t begin, std::int64_t end,
                         std::int8_t padding, std::int8_t* to) const {
  const Window &h = windows.height, &w = windows.width;
  const auto run = static_cast<std::size_t>(w.kernel * channels);  // of one row of a window
  for (std::int64_t row = begin; row < end; ++row) {
    const std::int64_t ow = row % out_width, oh = row / out_width % out_height;
    const std::int64_t n = row / out_width / out_height;
    const std::int64_t x = ow * w.stride - w.padding;
    const bool is_run = w.dilation == 1 && x >= 0 && x + w.kernel <= width;
    for (std::int64_t i = 0; i < h.kernel; ++i, to += run) {
      const std::int64_t y = oh * h.stride - h.padding + i * h.dilation;
      if (y < 0 || y >= height) {
        std::memset(to, padding, run);
        continue;
      }
      const std::int8_t* const line = images + (n * height + y) * width * channels;
      if (is_run) {
        std::memcpy(to, line + x * channels, run);
      } else {
        for (std::int64_t j = 0; j < w.kernel; ++j) {
          const std::int64_t at = x + j * w.dilation;
          std::int8_t* const pixel = to + j * channels;
          const auto bytes = static_cast<std::size_t>(channels);
          if (at < 0 || at >= width) {
            std::memset(pixel, padding, bytes);
          } else {
            std::memcpy(pixel, line + at * channels, bytes);
          }
        }
      }
    }
  }
}

}  // namespace weft
