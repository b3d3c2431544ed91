#include "weft/models/tasks/speech/spectrogram_masking.h"

#include <algorithm>

#include "weft/models/data/rng.h"
#include "weft/models/fields/check.h"

namespace weft {

void SpectrogramMasking::check() const {
  check::at_least("time_masks", time_masks, 0);
  check::at_least("time_width", time_width, 1);
  check::at_least("mel_masks", mel_masks, 0);
  check::at_least("mel_width", mel_width, 1);
  check::at_most({{"time_masks", time_masks, 1000}, {"mel_masks", mel_masks, 1000}});
}

const FieldList<SpectrogramMasking>& SpectrogramMasking::fields() {
  static const auto list = FieldList<SpectrogramMasking>("the masking of spectrograms")
                               .add("time_masks", &SpectrogramMasking::time_masks,
                                    "SpecAugment: number of masks over time")
                               .add("time_width", &SpectrogramMasking::time_width,
                                    "SpecAugment: maximum width of a mask over time, in frames")
                               .add("mel_masks", &SpectrogramMasking::mel_masks,
                                    "SpecAugment: number of masks over mel bins")
                               .add("mel_width", &SpectrogramMasking::mel_width,
                                    "SpecAugment: maximum width of a mask over mel bins");
  return list;
}

void mask_spectrogram(Tensor& batch, std::int64_t row, const SpectrogramMasking& how,
                      std::uint64_t seed, std::int64_t step, std::int64_t index) {
  const std::int64_t bins = batch.size(1), frames = batch.size(2);
  float* values = batch.mutable_data<float>() + row * bins * frames;
  Rng rng(stable_hash("weft.speech.masks", seed), static_cast<std::uint32_t>(index),
          static_cast<std::uint32_t>(step));
  const auto range = [&](std::int64_t size, std::int64_t most) {
    const std::int64_t width = rng.below(std::min(most, size) + 1);
    const std::int64_t begin = rng.below(size - width + 1);
    return std::pair(begin, begin + width);
  };
  for (std::int64_t i = 0; i < how.time_masks; ++i) {
    const auto [begin, end] = range(frames, how.time_width);
    for (std::int64_t b = 0; b < bins; ++b)
      std::fill(values + b * frames + begin, values + b * frames + end, 0.0F);
  }
  for (std::int64_t i = 0; i < how.mel_masks; ++i) {
    const auto [begin, end] = range(bins, how.mel_width);
    std::fill(values + begin * frames, values + end * frames, 0.0F);
  }
}

}  // namespace weft
