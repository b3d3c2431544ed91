// Incremental decoding of ids to text.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Decodes ids to text while they are generated. The concatenation of all returned texts is the
/// text of all ids. The text of an id may depend on the ids before it, and the bytes of a character
/// may be spread over several ids, so text is held back until it is final.
class TextStream {
 public:
  using Decode = std::function<std::string(std::span<const std::int32_t>)>;

  /// `before` holds preceding ids, such as the prompt, whose text is not returned. The tokenizer
  /// must outlive the stream.
  explicit TextStream(const Tokenizer& tokenizer, std::span<const std::int64_t> before = {});
  /// As above, with an arbitrary decoding function. The text of a prefix of the ids must be a
  /// prefix of their whole text, except that it may end in an incomplete character: some of its
  /// bytes, or U+FFFD in place of these.
  explicit TextStream(Decode decode, std::span<const std::int64_t> before = {});

  /// Appends an id and returns the new text, which may be empty. Throws as Tokenizer::decode()
  /// does.
  std::string add(std::int64_t id);
  /// Returns the text that was held back. To be called after the last id.
  std::string finish();

 private:
  std::string fresh(bool all);

  Decode decode_;
  // The text of ids [0, emitted_) has been returned. These ids are kept as context for decoding the
  // following ones.
  std::vector<std::int32_t> ids_;
  std::size_t emitted_ = 0;
};

}  // namespace weft
