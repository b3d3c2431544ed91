#include "weft/models/data/images/encode_png.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/data/images/image_codec.h"

// The PNG encoder of stb_image_write. Its functions are local to this file.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STBI_WRITE_NO_STDIO
#include <stb/stb_image_write.h>
#pragma GCC diagnostic pop

namespace weft {

std::string encode_png(const Tensor& image) {
  if (image.dtype() != DType::f32)
    throw DTypeError(fmt::format("an image must be f32, not {}", image.type_str()));
  const Sizes& sizes = image.sizes();
  if (sizes.size() != 3 || (sizes[0] != 1 && sizes[0] != 3) || sizes[1] < 1 || sizes[2] < 1 ||
      sizes[1] > kMaxPixels / sizes[2]) {
    throw ShapeError(
        fmt::format("an image has the shape [channels, height, width] with 1 or 3 channels and at "
                    "most {} pixels, not {}",
                    kMaxPixels, image.type_str()));
  }
  const std::int64_t channels = sizes[0], count = sizes[1] * sizes[2];
  std::vector<unsigned char> pixels(static_cast<std::size_t>(channels * count));
  const auto* values = image.data<float>();
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t i = 0; i < count; ++i) {
      const float v = values[c * count + i];
      // The comparison is false for NaN.
      const float clamped = v > 0 ? std::min(v, 1.0F) : 0.0F;
      pixels[static_cast<std::size_t>(i * channels + c)] =
          static_cast<unsigned char>(std::lround(clamped * 255.0F));
    }
  }
  std::string png;
  const auto append = [](void* to, void* data, int bytes) {
    static_cast<std::string*>(to)->append(static_cast<const char*>(data),
                                          static_cast<std::size_t>(bytes));
  };
  const auto width = static_cast<int>(sizes[2]), height = static_cast<int>(sizes[1]);
  if (stbi_write_png_to_func(append, &png, width, height, static_cast<int>(channels), pixels.data(),
                             width * static_cast<int>(channels)) == 0)
    throw Error("the image cannot be encoded as PNG: not enough memory");
  return png;
}

}  // namespace weft
