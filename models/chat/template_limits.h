// What rendering a conversation may cost.
#pragma once

#include <cstddef>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Templates come with models from anywhere: they run this far and no further. A long conversation
/// takes some thousand steps and its own size in bytes.
struct TemplateLimits {
  /// Operations; also characters and items that one operation goes over, in parts.
  std::size_t steps = 10'000'000;
  /// Of all texts that are made on the way, and of what is known of their origins.
  std::size_t bytes = std::size_t{128} << 20;
};

}  // namespace weft
