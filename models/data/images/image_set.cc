#include "weft/models/data/images/image_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/error.h"
#include "weft/models/data/batching/shuffle.h"

namespace weft {

std::string ImageSize::str() const { return fmt::format("{} x {} x {}", channels, height, width); }

ImageSize ImageSet::size() const { return {images.size(1), images.size(2), images.size(3)}; }

Tensor ImageSet::image(std::int64_t index) const {
  return slice(index, index + 1).images.reshape({images.size(1), images.size(2), images.size(3)});
}

ImageSet ImageSet::slice(std::int64_t begin, std::int64_t end) const {
  if (begin < 0 || end < begin || end > count()) {
    throw ArgumentError(fmt::format("images [{}, {}) are out of range for a set of {} images",
                                    begin, end, count()));
  }
  const auto [channels, height, width] = size();
  const auto bytes = static_cast<std::size_t>(channels * height * width) * sizeof(float);
  return {Tensor::view(DType::f32, {end - begin, channels, height, width}, images.buffer(),
                       images.byte_offset() + static_cast<std::size_t>(begin) * bytes),
          {labels.begin() + begin, labels.begin() + end},
          classes};
}

ImageSet ImageSet::pick(const std::vector<std::int64_t>& places) const {
  const auto [channels, height, width] = size();
  const std::int64_t pixels = channels * height * width;
  ImageSet out{Tensor::empty(DType::f32,
                             {static_cast<std::int64_t>(places.size()), channels, height, width}),
               {},
               classes};
  auto* to = out.images.mutable_data<float>();
  for (const std::int64_t place : places) {
    if (place < 0 || place >= count())
      throw ArgumentError(
          fmt::format("image {} is out of range for a set of {} images", place, count()));
    to = std::copy_n(images.data<float>() + place * pixels, pixels, to);
    out.labels.push_back(labels[static_cast<std::size_t>(place)]);
  }
  return out;
}

std::pair<ImageSet, ImageSet> split(const ImageSet& set, double fraction, std::uint64_t seed) {
  if (!(fraction >= 0 && fraction < 1))
    throw ArgumentError(
        fmt::format("the fraction to split off must be in [0, 1), not {}", fraction));
  std::vector<std::vector<std::int64_t>> by_class(set.classes.size());
  for (const std::int64_t i : shuffled(set.count(), seed)) {
    by_class[static_cast<std::size_t>(set.labels[static_cast<std::size_t>(i)])].push_back(i);
  }
  std::vector<std::int64_t> kept, taken;
  for (const auto& places : by_class) {
    const auto take = static_cast<std::ptrdiff_t>(
        std::min(std::round(fraction * static_cast<double>(places.size())),
                 std::max(static_cast<double>(places.size()) - 1, 0.0)));
    taken.insert(taken.end(), places.begin(), places.begin() + take);
    kept.insert(kept.end(), places.begin() + take, places.end());
  }
  std::sort(kept.begin(), kept.end());
  std::sort(taken.begin(), taken.end());
  return {set.pick(kept), set.pick(taken)};
}

ChannelStatistics channel_statistics(const ImageSet& set) {
  if (set.count() == 0) throw ArgumentError("an empty image set has no mean");
  const auto [channels, height, width] = set.size();
  const std::int64_t pixels = height * width;
  ChannelStatistics result;
  for (std::int64_t c = 0; c < channels; ++c) {
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < set.count(); ++i) {
      const float* p = set.images.data<float>() + (i * channels + c) * pixels;
      for (std::int64_t j = 0; j < pixels; ++j) {
        sum += p[j];
        squares += double{p[j]} * p[j];
      }
    }
    const auto n = static_cast<double>(set.count() * pixels);
    const double mean = sum / n;
    result.mean.push_back(mean);
    result.deviation.push_back(std::sqrt(std::max(squares / n - mean * mean, 0.0)));
  }
  return result;
}

}  // namespace weft
