// The interface of post-processors, which form the last step of encoding: they add special tokens
// around texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "weft/core/function_ref.h"
#include "weft/models/text/tokenizers/base/encoding.h"

namespace WEFT_API weft {

/// Returns the piece of an id as it is spelled in files.
using PieceOf = FunctionRef<std::string_view(std::int32_t)>;

/// A method of adding special tokens around a text or a pair of texts. Immutable. Each
/// implementation has a name and describes its fields; formats/components.cc lists all
/// implementations.
class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  /// Returns the number of special tokens that are added to a single text, or to a pair of texts if
  /// `pair` is true.
  virtual std::size_t added(bool pair) const = 0;
  /// Returns the ids that are added to texts.
  virtual std::vector<std::int32_t> ids() const = 0;
  /// Processes `encodings`, which contains one encoding per text. The results are joined in order
  /// by the caller; they may include additional encodings for special tokens.
  virtual void process(std::vector<Encoding>& encodings, bool add_special,
                       const PieceOf& piece) const = 0;
};

using PostProcessorPtr = std::shared_ptr<const PostProcessor>;

}  // namespace weft
