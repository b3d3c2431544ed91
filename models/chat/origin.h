// Who wrote the bytes of a conversation's text.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Where a part of a rendered conversation came from.
enum class Writer : std::uint8_t {
  format,    // the chat format: its own words, and the special tokens that it was given
  header,    // the role or the name of a message
  contents,  // whatever else a message says
  setting    // a variable of the caller
};

struct Origin {
  Writer writer = Writer::format;
  std::int32_t message = -1;  // the number of the message, of header and contents
  /// Within {% generation %}: what a model is to write.
  bool generated = false;

  friend bool operator==(const Origin&, const Origin&) = default;
};

/// Bytes of one origin: from the end of the run before to `end`.
struct TextRun {
  std::size_t end = 0;
  Origin origin = {};

  friend bool operator==(const TextRun&, const TextRun&) = default;
};

}  // namespace weft
