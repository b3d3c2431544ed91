// Packed bytes, a block at a time.
#pragma once

#include <cstddef>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Unpacks one format. Throws FormatError that says where the bytes are from, and the byte of them
/// at which they are damaged.
class Unpacker {
 public:
  struct Step {
    std::size_t taken = 0, made = 0;  // bytes of the input and of the output
  };
  virtual ~Unpacker() = default;
  /// Unpacks of `in` what fits into `out`. Nothing is taken or made only where more input is
  /// needed.
  virtual Step step(const char* in, std::size_t in_bytes, char* out, std::size_t out_bytes) = 0;
  /// The input is at its end: throws where it may not end there.
  virtual void finish() = 0;
};

}  // namespace weft
