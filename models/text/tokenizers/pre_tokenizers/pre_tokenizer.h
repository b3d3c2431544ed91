// The interface of pre-tokenizers, which form the second step of encoding: they split a text into
// words, which are then encoded separately.
#pragma once

#include <memory>

#include "weft/models/text/tokenizers/base/split_text.h"

namespace WEFT_API weft {

/// A method of splitting a text into words. Immutable. Each implementation has a name and describes
/// its fields; formats/components.cc lists all implementations.
class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  /// Splits each part of the text.
  virtual void split(SplitText& parts) const = 0;
  /// Returns true if the pre-tokenizer is byte-level, so that it can leave bytes unmapped if it is
  /// the last step.
  virtual bool is_byte_level() const { return false; }
};

using PreTokenizerPtr = std::shared_ptr<const PreTokenizer>;

}  // namespace weft
