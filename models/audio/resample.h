// Conversion of the sample rate.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns the samples at the rate `to` instead of `from`: ceil(n to / from) samples, the i-th of
/// which belongs to the same time as position i from / to. Equal rates return a copy. The filter is
/// a sinc with 64 zero crossings on each side and a Kaiser window (beta 12.3, 120 dB), centred on
/// 0.95 of the lower Nyquist frequency (Smith, "Digital Audio Resampling"). Frequencies up to 0.9
/// of the lower Nyquist frequency keep their amplitude within 1e-5, and frequencies above it are
/// attenuated by at least 100 dB. Samples before the beginning and after the end count as 0. Costs
/// 128 max(1, from / to) multiplications per sample of the result. Throws ArgumentError unless both
/// rates are positive.
std::vector<float> resample(std::span<const float> samples, std::int64_t from, std::int64_t to);

}  // namespace weft
