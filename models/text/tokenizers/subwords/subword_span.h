// An id and the part of a text that it represents.
#pragma once

#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// An id and the bytes of a text that it represents.
struct SubwordSpan {
  std::int32_t id = 0;
  std::uint32_t begin = 0, end = 0;  // byte offsets in the text

  friend bool operator==(const SubwordSpan&, const SubwordSpan&) = default;
};

}  // namespace weft
