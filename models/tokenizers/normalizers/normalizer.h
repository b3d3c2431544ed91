// The first step from a text to ids: characters that mean the same become the same.
#pragma once

#include <memory>
#include <string_view>

#include "weft/core/export.h"
#include "weft/models/tokenizers/parted_text.h"

namespace WEFT_API weft {

/// One kind of change. Immutable. A kind is a class with a name and a description of its fields
/// (formats/components.cc lists them).
class Normalizer {
 public:
  virtual ~Normalizer() = default;
  /// Changes every part.
  virtual void normalise(PartedText& parts) const = 0;
};

using NormalizerPtr = std::shared_ptr<const Normalizer>;

}  // namespace weft
