// SpecAugment: random masks over the time and the mel bins of training spectrograms.
#pragma once

#include <cstdint>

#include "weft/core/tensor.h"
#include "weft/models/fields/field_list.h"

namespace WEFT_API weft {

/// Random masks for training spectrograms (Park et al. 2019, "SpecAugment"). Each mask sets a range
/// of consecutive frames or mel bins to 0; its width is uniform in [0, width] and its position is
/// uniform. The defaults leave spectrograms unchanged.
struct SpectrogramMasking {
  std::int64_t time_masks = 0, time_width = 100;  // width in frames
  std::int64_t mel_masks = 0, mel_width = 27;     // width in bins

  /// Throws ArgumentError with the field, its value and the valid range.
  void check() const;
  static const FieldList<SpectrogramMasking>& fields();
  friend bool operator==(const SpectrogramMasking&, const SpectrogramMasking&) = default;
};

/// Masks spectrogram `row` of a batch f32 [rows, mel_bins, frames]. The masks are a function of
/// `how`, `seed`, `step` and `index`, the position of the spectrogram in the whole batch.
void mask_spectrogram(Tensor& batch, std::int64_t row, const SpectrogramMasking& how,
                      std::uint64_t seed, std::int64_t step, std::int64_t index);

}  // namespace weft
