// The fixtures in tests/fixtures/images, which contain pixels computed by Pillow.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/serialization/files/read_file.h"
#include "weft/tests/support/image_files.h"

namespace weft::testing {

/// Returns the part `name` of pillow.json in the folder `fixtures`.
inline nlohmann::json pillow_fixture(const std::string& fixtures, const char* name) {
  return nlohmann::json::parse(read_whole_file(fixtures + "/images/pillow.json")).at(name);
}

/// Returns the pixels of noise() in tests/fixtures/images/make.py as an image with values in [0,
/// 1].
inline Tensor pillow_noise(std::int64_t height, std::int64_t width, std::int64_t channels) {
  Tensor image = Tensor::empty(DType::f32, {channels, height, width});
  auto state = static_cast<std::uint32_t>(12345 + 31 * height + width);
  for (std::int64_t i = 0; i < height * width; ++i) {
    for (std::int64_t c = 0; c < channels; ++c) {
      state = state * 1664525U + 1013904223U;
      const std::uint32_t value = state >> 24;
      image.mutable_data<float>()[c * height * width + i] =
          static_cast<float>(value < 85     ? 0
                             : value >= 170 ? 255
                                            : value) /
          255.0F;
    }
  }
  return image;
}

/// Returns the pixels of an image, rounded to 8 bits, as hexadecimal digits.
inline std::string pixel_digits(const Tensor& image) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const float v : image.span<float>()) {
    const auto byte = static_cast<unsigned>(std::lround(v * 255));
    text += kDigits[byte >> 4 & 15];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace weft::testing
