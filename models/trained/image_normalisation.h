// How pixels become what a vision transformer sees.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/graph/ir/graph.h"
#include "weft/models/data/image_set.h"

namespace WEFT_API weft {

/// (pixel - mean) / deviation for each channel.
struct ImageNormalisation {
  std::vector<double> mean, deviation;

  /// Throws ArgumentError unless there is one of each per channel and deviations are positive.
  void check(std::int64_t channels) const;
};

/// That of the images' own statistics; a channel that is all one value is only shifted.
ImageNormalisation normalisation_of(const ImageSet& set);

/// Images [batch, channels, height, width] of pixels in [0, 1] as a model sees them, and back.
Value normalised(const Value& images, const ImageNormalisation& normalisation);
Value denormalised(const Value& pixels, const ImageNormalisation& normalisation);

}  // namespace weft
