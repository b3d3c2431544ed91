// The origins of the bytes of a rendered conversation.
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The source of a part of a rendered conversation.
enum class Writer : std::uint8_t {
  // The template itself, including its special tokens.
  format,
  header,    // the role or name of a message
  contents,  // any other field of a message
  setting    // a variable that the caller passed
};

struct Origin {
  Writer writer = Writer::format;
  /// The index of the message if the writer is `header` or `contents`.
  std::int32_t message = -1;
  /// True for text within {% generation %}, which the model generates.
  bool generated = false;

  friend bool operator==(const Origin&, const Origin&) = default;
};

/// A run of bytes with the same origin. It starts at the end of the previous run and ends at `end`.
struct TextRun {
  std::size_t end = 0;
  Origin origin = {};

  friend bool operator==(const TextRun&, const TextRun&) = default;
};

}  // namespace weft
