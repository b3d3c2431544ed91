// The interface of normalisers, which form the first step of encoding: they map equivalent texts to
// the same form.
#pragma once

#include <memory>

#include "weft/core/export.h"
#include "weft/models/text/tokenizers/base/split_text.h"

namespace WEFT_API weft {

/// A text normalisation. Immutable. Each implementation has a name and describes its fields;
/// formats/components.cc lists all implementations.
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// Normalises each part of the text.
  virtual void normalise(SplitText& parts) const = 0;
};

using NormalizerPtr = std::shared_ptr<const Normalizer>;

}  // namespace weft
