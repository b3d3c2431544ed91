// Bits per byte: a loss that is comparable across tokenizers.
#pragma once

#include <cmath>
#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The name of the metric.
inline constexpr const char* kBitsPerByte = "bits_per_byte";

/// Converts a mean loss per id of a text, in nats, to bits per byte, which is comparable across
/// tokenizers. `ids` and `bytes` are the sizes of the text.
inline double bits_per_byte(double loss, std::int64_t ids, std::int64_t bytes) {
  return loss / std::log(2) * static_cast<double>(ids) / static_cast<double>(bytes);
}

}  // namespace weft
