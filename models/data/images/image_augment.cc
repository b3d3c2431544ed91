#include "weft/models/data/images/image_augment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/models/data/images/image_transform.h"

namespace weft {
namespace {

/// A sequential random number generator for one image.
class ImageRng {
 public:
  ImageRng(std::uint64_t seed, std::int64_t step, std::int64_t index)
      : stream_{stable_hash("weft.data.augment", seed), static_cast<std::uint32_t>(index),
                static_cast<std::uint32_t>(step)} {}
  /// Returns a uniform number in [low, high).
  double between(double low, double high) {
    const PhiloxBlock block = stream_.block(next_++);
    return low + (high - low) * uniform_double(block[0], block[1]);
  }
  /// Returns a uniform integer in [low, high].
  std::int64_t among(std::int64_t low, std::int64_t high) {
    const PhiloxBlock block = stream_.block(next_++);
    const std::uint64_t bits = std::uint64_t{block[0]} << 32 | block[1];
    return low + static_cast<std::int64_t>(
                     uniform_below(bits, static_cast<std::uint64_t>(high - low + 1)));
  }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

/// Returns a random part of the image, resized to the size of the image. If the random size does
/// not fit into the image, another one is sampled. Returns the whole image after 10 failed
/// attempts.
Tensor random_part(const Tensor& image, double min_area, ImageRng& draw) {
  const std::int64_t rows = image.size(1), columns = image.size(2);
  for (int tries = 0; tries < 10; ++tries) {
    const double area = draw.between(min_area, 1) * static_cast<double>(rows * columns);
    const double ratio = std::exp(draw.between(std::log(3.0 / 4), std::log(4.0 / 3)));
    const std::int64_t width = std::llround(std::sqrt(area * ratio));
    const std::int64_t height = std::llround(std::sqrt(area / ratio));
    if (width < 1 || width > columns || height < 1 || height > rows) continue;
    const std::int64_t top = draw.among(0, rows - height), left = draw.among(0, columns - width);
    return resize_image(crop_image(image, top, left, height, width), rows, columns);
  }
  return image;
}

}  // namespace

void ImageAugmentation::check() const {
  const auto require = [](bool fits, std::string_view field, double value,
                          std::string_view allowed) {
    if (!fits) throw ArgumentError(fmt::format("{} must be {}, not {}", field, allowed, value));
  };
  constexpr std::int64_t kFar = 1 << 20;
  require(padding >= 0 && padding <= kFar, "padding", static_cast<double>(padding),
          "from 0 to 1048576 pixels");
  require(shift >= 0 && shift <= static_cast<double>(kFar), "shift", shift,
          "from 0 to 1048576 pixels");
  require(rotation >= 0 && rotation <= 180, "rotation", rotation, "from 0 to 180 degrees");
  require(zoom >= 0 && zoom < 1, "zoom", zoom, "in [0, 1)");
  require(min_area > 0 && min_area <= 1, "min_area", min_area, "in (0, 1]");
}

const FieldList<ImageAugmentation>& ImageAugmentation::fields() {
  static const auto list =
      FieldList<ImageAugmentation>("the image augmentation")
          .add("padding", &ImageAugmentation::padding,
               "pad with this number of black pixels on each side, then crop randomly to the "
               "original size")
          .add("shift", &ImageAugmentation::shift,
               "random shift by up to this number of pixels in each direction")
          .add("rotation", &ImageAugmentation::rotation,
               "random rotation by up to this number of degrees in either direction")
          .add("zoom", &ImageAugmentation::zoom,
               "random scaling by up to this fraction (0.1: by a factor from 0.9 to 1.1)")
          .add("min_area", &ImageAugmentation::min_area,
               "if below 1: replace the image by a random part of at least this fraction of its "
               "area, resized to the original size")
          .add("flip", &ImageAugmentation::flip, "mirror half of the images horizontally");
  return list;
}

Tensor augment(const Tensor& image, const ImageAugmentation& how, std::uint64_t seed,
               std::int64_t step, std::int64_t index) {
  ImageRng draw(seed, step, index);
  Tensor result = image;
  if (how.min_area < 1) result = random_part(result, how.min_area, draw);
  if (how.padding > 0) {
    const std::int64_t top = draw.among(-how.padding, how.padding);
    result = crop_image(result, top, draw.among(-how.padding, how.padding), image.size(1),
                        image.size(2));
  }
  if (how.shift > 0 || how.rotation > 0 || how.zoom > 0) {
    Affine affine;
    affine.degrees = draw.between(-how.rotation, how.rotation);
    affine.scale = draw.between(1 - how.zoom, 1 + how.zoom);
    affine.down = draw.between(-how.shift, how.shift);
    affine.right = draw.between(-how.shift, how.shift);
    result = transform_image(result, affine);
  }
  if (how.flip && draw.among(0, 1) == 1) result = flip_horizontal(result);
  return result;
}

ImageBatches::ImageBatches(const ImageSet& set, std::int64_t batch, const ImageAugmentation& how,
                           std::uint64_t seed)
    : set_(set), batch_(batch), how_(how), seed_(seed), epochs_(set.count(), seed) {
  how.check();
  if (set.count() == 0) throw ArgumentError("there are no images to train on");
  if (batch < 1)
    throw ArgumentError(fmt::format("a batch must have at least 1 image, not {}", batch));
}

ImageSet ImageBatches::operator()(const BatchPart& part) const {
  ImageSet batch = set_.pick(epochs_.examples(part, batch_));
  if (how_ == ImageAugmentation{}) return batch;
  const std::int64_t pixels = batch.images.numel() / batch.count();
  const std::int64_t first = part.rows(batch_).begin;
  for (std::int64_t i = 0; i < batch.count(); ++i) {
    const Tensor changed = augment(batch.image(i), how_, seed_, part.step(), first + i);
    std::copy_n(changed.data<float>(), pixels, batch.images.mutable_data<float>() + i * pixels);
  }
  return batch;
}

}  // namespace weft
