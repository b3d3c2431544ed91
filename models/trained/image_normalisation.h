// Normalisation of pixels for vision transformers.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/graph/ir/graph.h"
#include "weft/models/data/image_set.h"

namespace WEFT_API weft {

/// (pixel - mean) / deviation for each channel.
struct ImageNormalisation {
  std::vector<double> mean, deviation;

  /// Throws ArgumentError unless there are one mean and one deviation per channel, all values are
  /// finite in float32, and deviations are positive.
  void check(std::int64_t channels) const;
};

/// Returns the normalisation by the mean and standard deviation of the images. A channel with a
/// constant value has deviation 1, so it is only shifted.
ImageNormalisation normalisation_of(const ImageSet& set);

/// Normalises images [batch, channels, height, width] with pixels in [0, 1].
Value normalised(const Value& images, const ImageNormalisation& normalisation);
/// The inverse of normalised().
Value denormalised(const Value& pixels, const ImageNormalisation& normalisation);

}  // namespace weft
