// How accurate products of float32 matrices must be.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The lowest accuracy that matrix products may use for float32 (stored in files: never renumber).
/// A kernel may always be more accurate. Products of doubles take no notice of it.
enum class Precision : std::uint8_t {
  highest = 1,  // float32 accuracy
  high = 2,     // about 4e-6 relative (three bfloat16 products)
  medium = 3,   // bfloat16 operands, float32 sums
};
/// "highest", "high", "medium".
std::string_view precision_name(Precision precision);
/// Inverse of precision_name. Throws ArgumentError that lists the legal names.
Precision parse_precision(std::string_view name);

}  // namespace weft
