// Labelled images: the data set of image classifiers.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

/// What an image measures.
struct ImageSize {
  std::int64_t channels = 0, height = 0, width = 0;
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
  /// "3 x 224 x 224".
  std::string str() const;
};

/// Images of one size and what each shows.
struct ImageSet {
  Tensor images;                          // f32 [count, channels, height, width], values in [0, 1]
  std::vector<std::int32_t> labels = {};  // an index into classes per image
  std::vector<std::string> classes = {};  // names

  std::int64_t count() const { return static_cast<std::int64_t>(labels.size()); }
  ImageSize size() const;
  /// f32 [channels, height, width], without a copy.
  Tensor image(std::int64_t index) const;
  /// Images [begin, end), without a copy.
  ImageSet slice(std::int64_t begin, std::int64_t end) const;
  /// Copies of the images at these places, in this order.
  ImageSet pick(const std::vector<std::int64_t>& places) const;
};

/// Images that are run at once where no gradient needs them: their size only costs memory.
inline constexpr std::int64_t kImagesAtOnce = 250;

/// Takes about `fraction` of every class away, chosen by `seed`: what is left, and what was taken,
/// both in their old order. A class keeps at least one image. Throws ArgumentError unless 0 <=
/// fraction < 1.
std::pair<ImageSet, ImageSet> split(const ImageSet& set, double fraction, std::uint64_t seed);

/// Mean and standard deviation of the pixels of every channel.
struct ChannelStatistics {
  std::vector<double> mean, deviation;
};
/// Throws ArgumentError where there are no images.
ChannelStatistics channel_statistics(const ImageSet& set);

}  // namespace weft
