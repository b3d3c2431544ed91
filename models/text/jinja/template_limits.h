// Limits on the cost of rendering a conversation.
#pragma once

#include <cstddef>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Limits for templates from untrusted sources. Rendering a long conversation requires a few
/// thousand steps and about as many bytes as the conversation has.
struct TemplateLimits {
  /// Maximum number of operations. An operation on many characters or items counts as several
  /// steps, in proportion to their number.
  std::size_t steps = 10'000'000;
  /// Maximum total size of all texts created during rendering, including the records of their
  /// origins.
  std::size_t bytes = std::size_t{128} << 20;
};

}  // namespace weft
