#include "weft/models/data/images/image_transform.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "weft/core/error.h"

namespace weft {
namespace {

void require_image(const Tensor& image) {
  if (image.rank() != 3 || image.dtype() != DType::f32 || image.numel() == 0) {
    throw ShapeError(
        fmt::format("an image must be f32[channels, height, width], not {}", image.type_str()));
  }
}

void require_size(std::int64_t height, std::int64_t width) {
  if (height < 1 || width < 1) {
    throw ArgumentError(
        fmt::format("an image must have at least 1 x 1 pixels, not {} x {}", height, width));
  }
}

}  // namespace

Tensor crop_image(const Tensor& image, std::int64_t top, std::int64_t left, std::int64_t height,
                  std::int64_t width, float fill) {
  require_image(image);
  require_size(height, width);
  const std::int64_t channels = image.size(0), rows = image.size(1), columns = image.size(2);
  Tensor result = Tensor::full(DType::f32, {channels, height, width}, fill);
  const std::int64_t first = std::max<std::int64_t>(0, -left);
  const std::int64_t end = std::min(width, columns - left);
  if (end <= first) return result;
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t y = std::max<std::int64_t>(0, -top); y < std::min(height, rows - top); ++y) {
      std::copy_n(image.data<float>() + (c * rows + y + top) * columns + first + left, end - first,
                  result.mutable_data<float>() + (c * height + y) * width + first);
    }
  }
  return result;
}

Tensor center_crop(const Tensor& image, std::int64_t height, std::int64_t width) {
  require_image(image);
  // std::nearbyint() rounds halves to even.
  const auto margin = [](std::int64_t size, std::int64_t wanted) {
    return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(size - wanted) / 2));
  };
  return crop_image(image, margin(image.size(1), height), margin(image.size(2), width), height,
                    width);
}

Tensor flip_horizontal(const Tensor& image) {
  require_image(image);
  Tensor result = image.clone();
  auto* row = result.mutable_data<float>();
  for (const float* end = row + result.numel(); row != end; row += image.size(2))
    std::reverse(row, row + image.size(2));
  return result;
}

Tensor transform_image(const Tensor& image, const Affine& affine) {
  require_image(image);
  if (!(affine.scale > 0))
    throw ArgumentError(fmt::format("the scale must be positive, not {}", affine.scale));
  const std::int64_t channels = image.size(0), rows = image.size(1), columns = image.size(2);
  const double angle = affine.degrees * std::numbers::pi / 180;
  // The inverse transform maps positions in the result to positions in the image.
  const double along = std::cos(angle) / affine.scale, aside = std::sin(angle) / affine.scale;
  const double middle_y = static_cast<double>(rows - 1) / 2;
  const double middle_x = static_cast<double>(columns - 1) / 2;
  Tensor result = Tensor::empty(DType::f32, image.sizes());
  const float* in = image.data<float>();
  auto* out = result.mutable_data<float>();
  const auto pixel = [&](std::int64_t c, std::int64_t y, std::int64_t x) -> double {
    const bool inside = y >= 0 && y < rows && x >= 0 && x < columns;
    return inside ? in[(c * rows + y) * columns + x] : 0;
  };
  for (std::int64_t y = 0; y < rows; ++y) {
    for (std::int64_t x = 0; x < columns; ++x) {
      const double dy = static_cast<double>(y) - middle_y - affine.down;
      const double dx = static_cast<double>(x) - middle_x - affine.right;
      const double from_y = middle_y + along * dy + aside * dx;
      const double from_x = middle_x - aside * dy + along * dx;
      const double low_y = std::floor(from_y), low_x = std::floor(from_x);
      const double ty = from_y - low_y, tx = from_x - low_x;
      const auto i = static_cast<std::int64_t>(low_y), j = static_cast<std::int64_t>(low_x);
      for (std::int64_t c = 0; c < channels; ++c) {
        const double above = (1 - tx) * pixel(c, i, j) + tx * pixel(c, i, j + 1);
        const double below = (1 - tx) * pixel(c, i + 1, j) + tx * pixel(c, i + 1, j + 1);
        out[(c * rows + y) * columns + x] = static_cast<float>((1 - ty) * above + ty * below);
      }
    }
  }
  return result;
}

Tensor oriented(const Tensor& image, int orientation) {
  require_image(image);
  if (orientation < 2 || orientation > 8) return image;
  // Orientations 5 to 8 exchange rows and columns.
  const bool transposed = orientation >= 5;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  const std::int64_t rows = image.size(1), columns = image.size(2);
  const std::int64_t height = transposed ? columns : rows, width = transposed ? rows : columns;
  Tensor result = Tensor::empty(DType::f32, {image.size(0), height, width});
  auto* out = result.mutable_data<float>();
  for (std::int64_t c = 0; c < image.size(0); ++c) {
    const float* in = image.data<float>() + c * rows * columns;
    for (std::int64_t y = 0; y < height; ++y) {
      const std::int64_t i = from_bottom ? height - 1 - y : y;
      for (std::int64_t x = 0; x < width; ++x) {
        const std::int64_t j = from_right ? width - 1 - x : x;
        *out++ = transposed ? in[j * columns + i] : in[i * columns + j];
      }
    }
  }
  return result;
}

Tensor to_channels(const Tensor& image, std::int64_t channels) {
  require_image(image);
  if (image.size(0) == channels) return image;
  const std::int64_t pixels = image.size(1) * image.size(2);
  Tensor result = Tensor::empty(DType::f32, {channels, image.size(1), image.size(2)});
  const float* in = image.data<float>();
  auto* out = result.mutable_data<float>();
  if (image.size(0) == 3 && channels == 1) {
    for (std::int64_t i = 0; i < pixels; ++i)
      out[i] = 0.299F * in[i] + 0.587F * in[pixels + i] + 0.114F * in[2 * pixels + i];
  } else if (image.size(0) == 1 && channels == 3) {
    for (int c = 0; c < 3; ++c) out = std::copy_n(in, pixels, out);
  } else {
    throw ShapeError(fmt::format("cannot convert {} channels to {}: only 1 to 3 and 3 to 1",
                                 image.size(0), channels));
  }
  return result;
}

Tensor fit_image(const Tensor& image, std::int64_t channels, std::int64_t height,
                 std::int64_t width) {
  require_image(image);
  require_size(height, width);
  Tensor converted = to_channels(image, channels);
  const std::int64_t rows = image.size(1), columns = image.size(2);
  if (rows == height && columns == width) return converted;
  const double scale = std::max(static_cast<double>(height) / static_cast<double>(rows),
                                static_cast<double>(width) / static_cast<double>(columns));
  const auto scaled = [&](std::int64_t size, std::int64_t least) {
    return std::max<std::int64_t>(least, std::llround(scale * static_cast<double>(size)));
  };
  return center_crop(resize_image(converted, scaled(rows, height), scaled(columns, width)), height,
                     width);
}

}  // namespace weft
