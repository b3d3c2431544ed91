// The required accuracy of float32 matrix products.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The lowest accuracy that float32 matrix products may use. A kernel may always be more accurate.
/// Products of doubles ignore it. The values are stored in files: never renumber them.
enum class Precision : std::uint8_t {
  highest = 1,  // float32 accuracy
  high = 2,     // about 4e-6 relative (three bfloat16 products)
  medium = 3,   // bfloat16 operands, float32 sums
};
/// Returns "highest", "high" or "medium".
std::string_view precision_name(Precision precision);
/// The inverse of precision_name. Throws ArgumentError that lists the legal names.
Precision parse_precision(std::string_view name);

}  // namespace weft
