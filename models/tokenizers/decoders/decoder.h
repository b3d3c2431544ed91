// The way back: pieces become text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// One step from pieces to text. Immutable. A kind is a class with a name and a description of its
/// fields (formats/components.cc lists them).
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Changes the pieces, which are put together when all steps are done. `keep_bytes`: bytes that
  /// are no UTF-8 stay as they are; otherwise they become U+FFFD.
  virtual void decode(std::vector<std::string>& pieces, bool keep_bytes) const = 0;
};

using DecoderPtr = std::shared_ptr<const Decoder>;

}  // namespace weft
