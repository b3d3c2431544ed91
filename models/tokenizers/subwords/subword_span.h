// An id for a part of a word.
#pragma once

#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// An id for a part of a text.
struct SubwordSpan {
  std::int32_t id = 0;
  std::uint32_t begin = 0, end = 0;  // bytes of the text

  friend bool operator==(const SubwordSpan&, const SubwordSpan&) = default;
};

}  // namespace weft
