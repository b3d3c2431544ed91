// The second step from a text to ids: the text is cut into words, which become ids one by one.
#pragma once

#include <memory>

#include "weft/models/tokenizers/parted_text.h"

namespace WEFT_API weft {

/// One way to cut. Immutable. A kind is a class with a name and a description of its fields
/// (formats/components.cc lists them).
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void split(PartedText& parts) const = 0;
  /// True for a byte-level one that leaves the bytes as they are when it comes last.
  virtual bool is_byte_level() const { return false; }
};

using PreTokenizerPtr = std::shared_ptr<const PreTokenizer>;

}  // namespace weft
