// Ids that come one by one, as text.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/models/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Turns ids into text while they are generated: what has been given out, put together, is the text
/// of all ids. An id's text may depend on those before it, and a character's bytes may come with
/// several ids: nothing is given out before it is certain.
class TextStream {
 public:
  using Decode = std::function<std::string(std::span<const std::int32_t>)>;

  /// `before`: ids that stand in front, whose text is known already. The tokenizer must outlive the
  /// stream.
  explicit TextStream(const Tokenizer& tokenizer, std::span<const std::int64_t> before = {});
  /// The same with any function from ids to text. The texts of ids must begin with those of fewer
  /// ids, but for a character at their end that is not finished: some of its bytes, or U+FFFD for
  /// these.
  explicit TextStream(Decode decode, std::span<const std::int64_t> before = {});

  /// What is new, of the ids so far; may be empty. Throws as Tokenizer::decode.
  std::string add(std::int64_t id);
  /// What was held back, after the last id.
  std::string finish();

 private:
  std::string fresh(bool all);

  Decode decode_;
  // Ids [0, given_) have been given out; they are still needed for what those behind them mean.
  std::vector<std::int32_t> ids_;
  std::size_t given_ = 0;
};

}  // namespace weft
