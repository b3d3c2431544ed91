// Losses of models with different tokenizers, made comparable.
#pragma once

#include <cmath>
#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The metric's name.
inline constexpr const char* kBitsPerByte = "bits_per_byte";

/// A mean loss per id of a text in bits per byte of it: what different tokenizers can be compared
/// by.
inline double bits_per_byte(double loss, std::int64_t ids, std::int64_t bytes) {
  return loss / std::log(2) * static_cast<double>(ids) / static_cast<double>(bytes);
}

}  // namespace weft
