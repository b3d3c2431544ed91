#include "weft/models/data/images/image_geometry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/data/images/image_codec.h"
#include "weft/models/data/images/image_transform.h"

namespace weft {
namespace {

struct PixelSize {
  std::int64_t height = 0, width = 0;
};

/// Returns the integer part of length * numerator / denominator, in the order of operations of the
/// library.
std::int64_t scaled_length(double length, std::int64_t numerator, std::int64_t denominator) {
  return static_cast<std::int64_t>(length * static_cast<double>(numerator) /
                                   static_cast<double>(denominator));
}

/// Returns the size with the given shorter edge (get_resize_output_image_size and
/// get_size_with_aspect_ratio in transformers).
PixelSize with_shortest_edge(const ImageGeometry& geometry, const PixelSize& from) {
  const auto [least, most] = std::minmax(from.height, from.width);
  double edge = static_cast<double>(geometry.shortest_edge);
  std::int64_t shorter = geometry.shortest_edge;
  if (const std::int64_t limit = geometry.longest_edge;
      limit > 0 &&
      static_cast<double>(most) / static_cast<double>(least) * edge > static_cast<double>(limit)) {
    edge = static_cast<double>(limit) * static_cast<double>(least) / static_cast<double>(most);
    shorter = static_cast<std::int64_t>(std::nearbyint(edge));  // rounds halves to even
    if (shorter == least) return from;
  }
  const std::int64_t longer = scaled_length(edge, most, least);
  return from.width <= from.height ? PixelSize{longer, shorter} : PixelSize{shorter, longer};
}

std::string text_of(std::int64_t height, std::int64_t width) {
  return fmt::format("{} x {}", height, width);
}

Tensor resized(const Tensor& image, const ImageGeometry& geometry, std::string_view name) {
  const PixelSize from{image.size(1), image.size(2)};
  PixelSize to = from;
  if (geometry.height > 0) to = {geometry.height, geometry.width};
  if (geometry.shortest_edge > 0) to = with_shortest_edge(geometry, from);
  if (to.height < 1 || to.width < 1 || to.height > kMaxPixels / to.width) {
    throw DataError(fmt::format(
        "{}: resizing {} pixels to {} pixels is not possible; at least 1 x 1 and at most {} pixels "
        "are supported",
        name, text_of(from.height, from.width), text_of(to.height, to.width), kMaxPixels));
  }
  if (to.height == from.height && to.width == from.width) return image;
  return resize_image_8bit(image, to.height, to.width, geometry.filter);
}

/// Returns the centre of the image. If a margin is odd, it is smaller at the top and left, and
/// larger if the image is padded.
Tensor cropped(const Tensor& image, std::int64_t height, std::int64_t width) {
  const auto margin = [](std::int64_t size, std::int64_t wanted) {
    return static_cast<std::int64_t>(std::floor(static_cast<double>(size - wanted) / 2));
  };
  return crop_image(image, margin(image.size(1), height), margin(image.size(2), width), height,
                    width);
}

Tensor with_flipped_channels(const Tensor& image) {
  Tensor result = Tensor::empty(DType::f32, image.sizes());
  const std::int64_t pixels = image.size(1) * image.size(2);
  auto* out = result.mutable_data<float>();
  for (std::int64_t c = image.size(0); c-- > 0;)
    out = std::copy_n(image.data<float>() + c * pixels, pixels, out);
  return result;
}

}  // namespace

void ImageGeometry::check() const {
  constexpr std::int64_t kMax = 65535;
  for (const auto& [name, value] : {std::pair{"height", height},
                                    {"width", width},
                                    {"shortest_edge", shortest_edge},
                                    {"longest_edge", longest_edge},
                                    {"crop_height", crop_height},
                                    {"crop_width", crop_width}}) {
    if (value < 0 || value > kMax) {
      throw ArgumentError(fmt::format("{} must be from 0 to {} pixels, not {}", name, kMax, value));
    }
  }
  const auto require = [](bool fits, std::string_view what) {
    if (!fits) throw ArgumentError(fmt::format("the image geometry is invalid: {}", what));
  };
  require((height > 0) == (width > 0), "height and width require each other");
  require((crop_height > 0) == (crop_width > 0), "crop_height and crop_width require each other");
  require(height == 0 || shortest_edge == 0, "height excludes shortest_edge");
  require(longest_edge == 0 || shortest_edge > 0, "longest_edge requires shortest_edge");
}

const FieldList<ImageGeometry>& ImageGeometry::fields() {
  static const auto list =
      FieldList<ImageGeometry>("the image geometry")
          .add("height", &ImageGeometry::height, "resize to this height")
          .add("width", &ImageGeometry::width, "resize to this width")
          .add("shortest_edge", &ImageGeometry::shortest_edge,
               "resize the shorter edge to this length")
          .add("longest_edge", &ImageGeometry::longest_edge, "limit of the longer edge")
          .add("filter", &ImageGeometry::filter, "filter for resizing")
          .add("crop_height", &ImageGeometry::crop_height, "crop the centre to this height")
          .add("crop_width", &ImageGeometry::crop_width, "crop the centre to this width")
          .add("flip_channels", &ImageGeometry::flip_channels, "exchange red and blue");
  return list;
}

std::string ImageGeometry::fixed_size() const {
  if (crop_height > 0) return text_of(crop_height, crop_width);
  return height > 0 ? text_of(height, width) : "";
}

ImageGeometry ImageGeometry::scaled(const ImageSize& from, const ImageSize& to) const {
  if (from.height == to.height && from.width == to.width) return *this;
  const auto scale = [](std::int64_t length, std::int64_t before, std::int64_t after) {
    if (length == 0 || length == before) return length == 0 ? 0 : after;
    return std::clamp<std::int64_t>(
        std::llround(static_cast<double>(length) * static_cast<double>(after) /
                     static_cast<double>(before)),
        1, 65535);
  };
  const std::int64_t before = std::min(from.height, from.width);
  const std::int64_t after = std::min(to.height, to.width);
  ImageGeometry result = *this;
  result.height = scale(height, from.height, to.height);
  result.width = scale(width, from.width, to.width);
  result.shortest_edge = scale(shortest_edge, before, after);
  result.longest_edge = scale(longest_edge, before, after);
  result.crop_height = scale(crop_height, from.height, to.height);
  result.crop_width = scale(crop_width, from.width, to.width);
  return result;
}

ImageGeometry default_geometry(const ImageSize& size) {
  if (size.height != size.width) return {.height = size.height, .width = size.width};
  return {.shortest_edge = size.height, .crop_height = size.height, .crop_width = size.width};
}

Tensor preprocess_image(const Tensor& image, const ImageSize& size,
                        const std::optional<ImageGeometry>& geometry, std::string_view name) {
  if (!geometry) return fit_image(image, size.channels, size.height, size.width);
  Tensor result = resized(to_channels(image, size.channels), *geometry, name);
  if (geometry->crop_height > 0)
    result = cropped(result, geometry->crop_height, geometry->crop_width);
  if (geometry->flip_channels) result = with_flipped_channels(result);
  if (result.size(1) == size.height && result.size(2) == size.width) return result;
  throw DataError(
      fmt::format("{}: preprocessing converts {} pixels to {}, but the model requires {}", name,
                  text_of(image.size(1), image.size(2)), text_of(result.size(1), result.size(2)),
                  text_of(size.height, size.width)));
}

}  // namespace weft
