// The last step from a text to ids: special ids are put around it.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/models/tokenizers/encoding.h"

namespace WEFT_API weft {

/// How files spell an id.
using PieceOf = FunctionRef<std::string_view(std::int32_t)>;

/// One way to put ids around one text or two. Immutable. A kind is a class with a name and a
/// description of its fields (formats/components.cc lists them).
class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  /// How many ids are put around one text, or two.
  virtual std::size_t added(bool pair) const = 0;
  /// Changes what will be joined: one encoding for each text, others between them.
  virtual void process(std::vector<Encoding>& encodings, bool add_special,
                       const PieceOf& piece) const = 0;
};

using PostProcessorPtr = std::shared_ptr<const PostProcessor>;

}  // namespace weft
