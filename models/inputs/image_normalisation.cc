#include "weft/models/inputs/image_normalisation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/graph/functions.h"

namespace weft {
namespace {

Value per_channel(Graph& graph, const std::vector<double>& values) {
  const std::vector<float> floats(values.begin(), values.end());
  return graph.constant(Tensor::of({static_cast<std::int64_t>(values.size()), 1, 1}, floats));
}

}  // namespace

void ImageNormalisation::check(std::int64_t channels) const {
  const auto count = static_cast<std::size_t>(channels);
  if (mean.size() != count || deviation.size() != count) {
    throw ArgumentError(
        fmt::format("{} means and {} deviations do not match images with {} channels", mean.size(),
                    deviation.size(), channels));
  }
  // Models compute in float32.
  for (const double d : deviation) {
    const auto f = static_cast<float>(d);
    if (!(f > 0 && std::isfinite(f)))
      throw ArgumentError(fmt::format("a deviation must be positive and finite, not {}", d));
  }
  for (const double m : mean) {
    if (!std::isfinite(static_cast<float>(m)))
      throw ArgumentError(fmt::format("a mean must be finite, not {}", m));
  }
}

ImageNormalisation normalisation_of(const ImageSet& set) {
  ChannelStatistics found = channel_statistics(set);
  std::replace(found.deviation.begin(), found.deviation.end(), 0.0, 1.0);
  return {found.mean, found.deviation};
}

Value normalised(const Value& images, const ImageNormalisation& normalisation) {
  Graph& graph = images.graph();
  return (images - per_channel(graph, normalisation.mean)) /
         per_channel(graph, normalisation.deviation);
}

Value denormalised(const Value& pixels, const ImageNormalisation& normalisation) {
  Graph& graph = pixels.graph();
  return pixels * per_channel(graph, normalisation.deviation) +
         per_channel(graph, normalisation.mean);
}

}  // namespace weft
