// A range of bytes in a text.
#pragma once

#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The bytes [begin, end) of a text.
struct Span {
  std::uint32_t begin = 0, end = 0;

  friend bool operator==(const Span&, const Span&) = default;
};

}  // namespace weft
