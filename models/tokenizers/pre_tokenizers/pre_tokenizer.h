// Interface of pre-tokenizers, the second step of encoding: they split a text into words, which are
// then encoded one by one.
#pragma once

#include <memory>

#include "weft/models/tokenizers/split_text.h"

namespace WEFT_API weft {

/// A way to split a text into words. Immutable. Each implementation has a name and describes its
/// fields; formats/components.cc lists all of them.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Splits every part of the text.
  virtual void split(SplitText& parts) const = 0;
  /// True if it is byte-level, so that in last position it can leave the bytes unmapped.
  virtual bool is_byte_level() const { return false; }
};

using PreTokenizerPtr = std::shared_ptr<const PreTokenizer>;

}  // namespace weft
