#include "weft/models/data/images/image_transform.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

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

double kernel(Interpolation interpolation, double x) {
  x = std::abs(x);
  if (interpolation == Interpolation::bilinear) return std::max(1 - x, 0.0);
  constexpr double a = -0.5;
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

/// The weights of the input pixels that contribute to one output pixel.
struct Window {
  std::int64_t first = 0;
  std::vector<double> weights = {};
};

std::vector<Window> windows(Interpolation interpolation, std::int64_t from, std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = std::max(scale, 1.0);
  const double half = (interpolation == Interpolation::bilinear ? 1 : 2) * stretch;
  std::vector<Window> all;
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    // Pixels whose centres (at half-integer positions) are inside the kernel.
    const auto first =
        std::max(static_cast<std::int64_t>(std::floor(centre - half + 0.5)), std::int64_t{0});
    const auto end = std::min(static_cast<std::int64_t>(std::floor(centre + half + 0.5)), from);
    Window window{first};
    double sum = 0;
    for (std::int64_t j = first; j < end; ++j) {
      const double w = kernel(interpolation, (static_cast<double>(j) + 0.5 - centre) / stretch);
      window.weights.push_back(w);
      sum += w;
    }
    for (double& w : window.weights) w /= sum;
    all.push_back(std::move(window));
  }
  return all;
}

}  // namespace

Tensor resize_image(const Tensor& image, std::int64_t height, std::int64_t width,
                    Interpolation interpolation) {
  require_image(image);
  require_size(height, width);
  const std::int64_t channels = image.size(0), rows = image.size(1), columns = image.size(2);
  if (height == rows && width == columns) return image.clone();
  const auto across = windows(interpolation, columns, width);
  const auto down = windows(interpolation, rows, height);
  Tensor result = Tensor::empty(DType::f32, {channels, height, width});
  auto* out = result.mutable_data<float>();
  // One channel after horizontal resizing.
  std::vector<double> narrow(static_cast<std::size_t>(rows * width));
  for (std::int64_t c = 0; c < channels; ++c) {
    for (std::int64_t y = 0; y < rows; ++y) {
      const float* row = image.data<float>() + (c * rows + y) * columns;
      for (std::int64_t x = 0; x < width; ++x) {
        const Window& window = across[static_cast<std::size_t>(x)];
        double sum = 0;
        for (std::size_t j = 0; j < window.weights.size(); ++j)
          sum += window.weights[j] * row[window.first + static_cast<std::int64_t>(j)];
        narrow[static_cast<std::size_t>(y * width + x)] = sum;
      }
    }
    for (const Window& window : down) {
      for (std::int64_t x = 0; x < width; ++x) {
        double sum = 0;
        for (std::size_t j = 0; j < window.weights.size(); ++j) {
          const std::int64_t y = window.first + static_cast<std::int64_t>(j);
          sum += window.weights[j] * narrow[static_cast<std::size_t>(y * width + x)];
        }
        *out++ = static_cast<float>(sum);
      }
    }
  }
  return result;
}

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
