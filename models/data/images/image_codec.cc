#include "weft/models/data/images/image_codec.h"

#include <fmt/format.h>

#include <memory>

#include "weft/core/error.h"
#include "weft/models/data/images/image_orientation.h"
#include "weft/models/data/images/image_transform.h"
#include "weft/serialization/files/read_file.h"

// The stb_image decoder. Its functions are local to this file, and its warnings are disabled.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#define STBI_NO_HDR
#define STBI_NO_LINEAR
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

namespace weft {
namespace {

/// Returns the luma of a pixel (Rec. 601) with the weights of PIL, rounded to 8 bits.
int luma(const stbi_uc* rgb) {
  return (rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + (1 << 15)) >> 16;
}

}  // namespace

Tensor decode_image(std::string_view bytes, std::int64_t channels, std::string_view name) {
  if (channels != 1 && channels != 3) {
    throw ArgumentError(
        fmt::format("images have 1 channel (grey) or 3 (red, green, blue), not {}", channels));
  }
  check_image_file(bytes, name);
  const auto fail = [&](std::string_view why) {
    throw FormatError(fmt::format("{}: cannot be decoded: {}", name, why));
  };
  if (bytes.size() > std::size_t{1} << 30) fail("the file has more than 1 GiB");
  const auto* data = reinterpret_cast<const stbi_uc*>(bytes.data());
  const int size = static_cast<int>(bytes.size());
  int width = 0, height = 0, found = 0;
  if (stbi_info_from_memory(data, size, &width, &height, &found) == 0) fail(stbi_failure_reason());
  if (width < 1 || height < 1 || std::int64_t{width} * height > kMaxPixels) {
    fail(fmt::format("{} x {} pixels; at least 1 and at most {} are supported", width, height,
                     kMaxPixels));
  }
  // Colours are converted to grey below, because stb_image does so with other weights than PIL.
  const int stored = found < 3 ? 1 : 3;
  const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
      stbi_load_from_memory(data, size, &width, &height, &found, stored), stbi_image_free);
  if (pixels == nullptr) fail(stbi_failure_reason());
  const std::int64_t count = std::int64_t{height} * width;
  Tensor image = Tensor::empty(DType::f32, {channels, height, width});
  auto* out = image.mutable_data<float>();
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t i = 0; i < count; ++i) {
      const stbi_uc* pixel = pixels.get() + i * stored;
      const int value = stored < channels ? pixel[0] : stored == channels ? pixel[c] : luma(pixel);
      *out++ = static_cast<float>(value) / 255.0F;
    }
  }
  return oriented(image, exif_orientation(bytes));
}

Tensor read_image(const std::string& path, std::int64_t channels) {
  return decode_image(read_whole_file(path), channels, path);
}

}  // namespace weft
