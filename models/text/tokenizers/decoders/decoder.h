// The interface of decoders, which convert pieces to text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// One step of the conversion from pieces to text. Immutable. Each implementation has a name and
/// describes its fields; formats/components.cc lists all implementations.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Transforms the pieces, which are concatenated after the last step. If `keep_bytes` is true,
  /// invalid UTF-8 is kept; otherwise it is replaced by U+FFFD.
  virtual void decode(std::vector<std::string>& pieces, bool keep_bytes) const = 0;
};

using DecoderPtr = std::shared_ptr<const Decoder>;

}  // namespace weft
