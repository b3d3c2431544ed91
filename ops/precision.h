// The required accuracy of float32 matrix products.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The lowest accuracy that is allowed for float32 matrix products. A kernel may always be more
/// accurate. Products in double precision ignore this setting. The numeric values are stored in
/// files and must never change.
enum class Precision : std::uint8_t {
  highest = 1,  // float32 accuracy
  high = 2,     // relative error of about 4e-6 (three bfloat16 products)
  medium = 3,   // bfloat16 operands, float32 sums
};
/// Returns "highest", "high" or "medium".
std::string_view precision_name(Precision precision);
/// The inverse of precision_name(). Throws ArgumentError, listing the valid names, if the name is
/// unknown.
Precision parse_precision(std::string_view name);

}  // namespace weft
