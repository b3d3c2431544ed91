// Incremental decoding of ids to text.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Decodes ids to text while they are being generated. The concatenation of all returned texts
/// equals the text of all ids. The text of an id may depend on the preceding ids, and the bytes of
/// a character may be spread over several ids, so text is held back until it is final.
class TextStream {
 public:
  using Decode = std::function<std::string(std::span<const std::int32_t>)>;

  /// `before` contains preceding ids, such as a prompt, whose text is not returned. The tokenizer
  /// must outlive the stream.
  explicit TextStream(const Tokenizer& tokenizer, std::span<const std::int64_t> before = {});
  /// As above, but with an arbitrary decoding function. The text of each prefix of the ids must be
  /// a prefix of the text of all ids, except that it may end in an incomplete character (some of
  /// its bytes, or U+FFFD instead of them).
  explicit TextStream(Decode decode, std::span<const std::int64_t> before = {});

  /// Appends an id and returns the new text, which may be empty. Throws the same exceptions as
  /// Tokenizer::decode().
  std::string add(std::int64_t id);
  /// Returns the text that is still held back. Must be called after the last id.
  std::string finish();

 private:
  std::string fresh(bool all);

  Decode decode_;
  // The text of ids [0, emitted_) has been returned. These ids are kept as context for decoding the
  // following ids.
  std::vector<std::int32_t> ids_;
  std::size_t emitted_ = 0;
};

}  // namespace weft
