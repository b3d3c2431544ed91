// Incremental decompression.
#pragma once

#include <cstddef>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Decompresses one format. Throws FormatError with the source of the bytes and the byte offset if
/// the input is damaged.
class Decompressor {
 public:
  struct Step {
    std::size_t taken = 0, made = 0;  // bytes consumed and produced
  };
  virtual ~Decompressor() = default;
  /// Decompresses bytes from `in` into `out`. If a call consumes and produces nothing, more input
  /// is needed.
  virtual Step step(const char* in, std::size_t in_bytes, char* out, std::size_t out_bytes) = 0;
  /// To be called at the end of the input. Throws FormatError if the data are incomplete.
  virtual void finish() = 0;
};

}  // namespace weft
