// Pixel normalisation for vision transformers.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/graph/ir/graph.h"
#include "weft/models/data/images/image_set.h"

namespace WEFT_API weft {

/// Per-channel normalisation: (pixel - mean) / deviation.
struct ImageNormalisation {
  std::vector<double> mean, deviation;

  /// Throws ArgumentError unless each channel has one mean and one deviation, all values are finite
  /// in float32, and all deviations are positive.
  void check(std::int64_t channels) const;
};

/// Returns the normalisation that uses the mean and standard deviation of the images. Constant
/// channels get deviation 1, so that they are shifted but not scaled.
ImageNormalisation normalisation_of(const ImageSet& set);

/// Returns normalised images. `images` is [batch, channels, height, width] with pixels in [0, 1].
Value normalised(const Value& images, const ImageNormalisation& normalisation);
/// Reverses normalised().
Value denormalised(const Value& pixels, const ImageNormalisation& normalisation);

}  // namespace weft
