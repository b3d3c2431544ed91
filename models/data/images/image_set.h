// Labelled images, for training and evaluating image classifiers.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// The size of an image.
struct ImageSize {
  std::int64_t channels = 0, height = 0, width = 0;
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
  /// Returns the size in the form "3 x 224 x 224".
  std::string str() const;
};

/// Images of one size with their classes.
struct ImageSet {
  Tensor images;                          // f32 [count, channels, height, width], values in [0, 1]
  std::vector<std::int32_t> labels = {};  // one index into `classes` per image
  std::vector<std::string> classes = {};  // class names

  std::int64_t count() const { return static_cast<std::int64_t>(labels.size()); }
  ImageSize size() const;
  /// Returns an image as a view, f32 [channels, height, width].
  Tensor image(std::int64_t index) const;
  /// Returns images [begin, end) as a view.
  ImageSet slice(std::int64_t begin, std::int64_t end) const;
  /// Returns copies of the images at these indices, in this order.
  ImageSet pick(const std::vector<std::int64_t>& places) const;
};

/// Batch size for inference. Without gradients, a larger batch only increases memory usage.
inline constexpr std::int64_t kImagesAtOnce = 250;

/// Splits off about `fraction` of the images of every class, selected at random with `seed`.
/// Returns the remaining images and the selected images, both in original order. At least one image
/// of each class remains. Throws ArgumentError unless 0 <= fraction < 1.
std::pair<ImageSet, ImageSet> split(const ImageSet& set, double fraction, std::uint64_t seed);

/// Mean and standard deviation of the pixel values, per channel.
struct ChannelStatistics {
  std::vector<double> mean, deviation;
};
/// Throws ArgumentError if there are no images.
ChannelStatistics channel_statistics(const ImageSet& set);

}  // namespace weft
