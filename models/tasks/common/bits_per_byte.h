// Bits per byte, a loss that can be compared across tokenizers.
#pragma once

#include <cmath>
#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Name of the metric in training histories.
inline constexpr const char* kBitsPerByte = "bits_per_byte";

/// Converts the mean loss per id, in nats, to bits per byte, which can be compared across
/// tokenizers. `ids` and `bytes` are the length of the text in ids and in bytes.
inline double bits_per_byte(double loss, std::int64_t ids, std::int64_t bytes) {
  return loss / std::log(2) * static_cast<double>(ids) / static_cast<double>(bytes);
}

}  // namespace weft
