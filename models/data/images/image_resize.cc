#include "weft/models/data/images/image_resize.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <type_traits>
#include <vector>

#include "weft/core/error.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, 6> kInterpolationNames = {"nearest", "lanczos", "bilinear",
                                                                 "bicubic", "box",     "hamming"};

double sinc(double x) {
  if (x == 0) return 1;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

/// The kernels of PIL. The order of the operations determines the last bit of a weight.
double kernel(Interpolation interpolation, double x) {
  switch (interpolation) {
    case Interpolation::box: return x > -0.5 && x <= 0.5 ? 1 : 0;
    case Interpolation::hamming: {
      x = std::abs(x);
      if (x == 0) return 1;
      if (x >= 1) return 0;
      x *= std::numbers::pi;
      return std::sin(x) / x * (0.54F + 0.46F * std::cos(x));
    }
    case Interpolation::bicubic: {
      constexpr double a = -0.5;
      x = std::abs(x);
      if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
      if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
      return 0;
    }
    case Interpolation::lanczos: return x >= -3 && x < 3 ? sinc(x) * sinc(x / 3) : 0;
    default: return std::max(1 - std::abs(x), 0.0);
  }
}

double half_width(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::box: return 0.5;
    case Interpolation::bicubic: return 2;
    case Interpolation::lanczos: return 3;
    default: return 1;
  }
}

/// The weights of the input pixels that contribute to one output pixel.
template <class Weight>
struct Window {
  std::int64_t first = 0;
  std::vector<Weight> weights = {};
};
template <class Weight>
using Windows = std::vector<Window<Weight>>;

/// Returns the single pixels that the filter nearest copies. PIL adds up the positions instead of
/// multiplying, which decides between two pixels when a position is close to a pixel boundary.
Windows<double> nearest_pixels(std::int64_t from, std::int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  Windows<double> all;
  double position = scale * 0.5;
  for (std::int64_t i = 0; i < to; ++i, position += scale)
    all.push_back({std::min(static_cast<std::int64_t>(position), from - 1), {1.0}});
  return all;
}

Windows<double> windows(Interpolation interpolation, std::int64_t from, std::int64_t to) {
  if (interpolation == Interpolation::nearest) return nearest_pixels(from, to);
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double stretch = std::max(scale, 1.0), inverse = 1 / stretch;
  const double half = half_width(interpolation) * stretch;
  Windows<double> all;
  for (std::int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    // Pixels whose centres (at half-integer positions) are inside the kernel.
    const auto first =
        std::max(static_cast<std::int64_t>(std::floor(centre - half + 0.5)), std::int64_t{0});
    const auto end = std::min(static_cast<std::int64_t>(std::floor(centre + half + 0.5)), from);
    Window<double> window{first};
    double sum = 0;
    for (std::int64_t j = first; j < end; ++j) {
      const double w = kernel(interpolation, (static_cast<double>(j) - centre + 0.5) * inverse);
      window.weights.push_back(w);
      sum += w;
    }
    if (sum != 0) {
      for (double& w : window.weights) w /= sum;
    }
    all.push_back(std::move(window));
  }
  return all;
}

/// Number of fractional bits of the weights in 8-bit arithmetic: 32 bits minus 8 bits for the
/// result, minus 2 because sums of weights may be negative or exceed 1.
constexpr int kWeightBits = 32 - 8 - 2;

Windows<std::int32_t> fixed_point(const Windows<double>& all) {
  Windows<std::int32_t> result;
  for (const Window<double>& window : all) {
    Window<std::int32_t> fixed{window.first};
    for (const double w : window.weights) {
      fixed.weights.push_back(
          static_cast<std::int32_t>((w < 0 ? -0.5 : 0.5) + w * (1 << kWeightBits)));
    }
    result.push_back(std::move(fixed));
  }
  return result;
}

/// Returns the weighted sum of the pixels of a window, which are `stride` elements apart.
double weighted_sum(const Window<double>& window, const double* pixels, std::int64_t stride) {
  double sum = 0;
  for (std::size_t j = 0; j < window.weights.size(); ++j) {
    sum += window.weights[j] * pixels[(window.first + static_cast<std::int64_t>(j)) * stride];
  }
  return sum;
}
std::uint8_t weighted_sum(const Window<std::int32_t>& window, const std::uint8_t* pixels,
                          std::int64_t stride) {
  std::int64_t sum = 1 << (kWeightBits - 1);
  for (std::size_t j = 0; j < window.weights.size(); ++j) {
    sum += std::int64_t{window.weights[j]} *
           pixels[(window.first + static_cast<std::int64_t>(j)) * stride];
  }
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> kWeightBits, 0, 255));
}

/// Resizes one channel: first the rows, then the columns. A pass that keeps the size is skipped.
template <class Pixel, class Weight>
std::vector<Pixel> resize_channel(std::vector<Pixel> in, std::int64_t rows, std::int64_t columns,
                                  const Windows<Weight>& down, const Windows<Weight>& across) {
  const auto height = std::ssize(down), width = std::ssize(across);
  if (width != columns) {
    std::vector<Pixel> narrow;
    narrow.reserve(static_cast<std::size_t>(rows * width));
    for (std::int64_t y = 0; y < rows; ++y) {
      for (const auto& window : across)
        narrow.push_back(weighted_sum(window, in.data() + y * columns, 1));
    }
    in = std::move(narrow);
  }
  if (height != rows) {
    std::vector<Pixel> low;
    low.reserve(static_cast<std::size_t>(height * width));
    for (const auto& window : down) {
      for (std::int64_t x = 0; x < width; ++x)
        low.push_back(weighted_sum(window, in.data() + x, width));
    }
    in = std::move(low);
  }
  return in;
}

/// Resizes an image. `read` and `write` convert between its values and the pixels of
/// resize_channel().
template <class Pixel, class Weight, class Read, class Write>
Tensor resize_channels(const Tensor& image, const Windows<Weight>& down,
                       const Windows<Weight>& across, const Read& read, const Write& write) {
  const std::int64_t rows = image.size(1), columns = image.size(2), pixels = rows * columns;
  Tensor result = Tensor::empty(DType::f32, {image.size(0), std::ssize(down), std::ssize(across)});
  const float* in = image.data<float>();
  auto* out = result.mutable_data<float>();
  for (std::int64_t c = 0; c < image.size(0); ++c, in += pixels) {
    std::vector<Pixel> channel(static_cast<std::size_t>(pixels));
    std::transform(in, in + pixels, channel.begin(), read);
    channel = resize_channel(std::move(channel), rows, columns, down, across);
    out = std::transform(channel.begin(), channel.end(), out, write);
  }
  return result;
}

void check_resize(const Tensor& image, std::int64_t height, std::int64_t width) {
  if (image.rank() != 3 || image.dtype() != DType::f32 || image.numel() == 0) {
    throw ShapeError(
        fmt::format("an image must be f32[channels, height, width], not {}", image.type_str()));
  }
  if (height < 1 || width < 1) {
    throw ArgumentError(
        fmt::format("an image must have at least 1 x 1 pixels, not {} x {}", height, width));
  }
}

}  // namespace

ChoiceNames choice_names(Interpolation) { return {"filter", kInterpolationNames}; }

Tensor resize_image(const Tensor& image, std::int64_t height, std::int64_t width,
                    Interpolation interpolation) {
  check_resize(image, height, width);
  if (height == image.size(1) && width == image.size(2)) return image.clone();
  return resize_channels<double>(
      image, windows(interpolation, image.size(1), height),
      windows(interpolation, image.size(2), width), [](float v) -> double { return v; },
      [](double v) { return static_cast<float>(v); });
}

Tensor resize_image_8bit(const Tensor& image, std::int64_t height, std::int64_t width,
                         Interpolation interpolation) {
  check_resize(image, height, width);
  return resize_channels<std::uint8_t>(
      image, fixed_point(windows(interpolation, image.size(1), height)),
      fixed_point(windows(interpolation, image.size(2), width)),
      [](float v) {
        // The comparison also maps NaN to 0.
        return v > 0 ? static_cast<std::uint8_t>(std::lround(std::min(v, 1.0F) * 255.0F))
                     : std::uint8_t{0};
      },
      [](std::uint8_t v) { return static_cast<float>(v) / 255.0F; });
}

}  // namespace weft
