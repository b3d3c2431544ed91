// Stop texts and stop sequences, which end a generated sequence.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/generate/options.h"
#include "weft/models/text/tokenizers/tokenizer.h"

namespace WEFT_API weft {

/// Returns true if the text of the last of `ids` completes one of `texts`, which are not empty. To
/// be called after every new id. `before` contains the ids before `ids`: the prompt of a decoder,
/// or the first ids of an encoder-decoder's output. Texts are compared rather than ids, because the
/// ids of a text depend on the surrounding text.
bool ends_with_stop_text(const std::vector<std::string>& texts, const Tokenizer& tokenizer,
                         const TokenIds& before, const TokenIds& ids);

/// Removes stop texts from a text that arrives in pieces. Text that may be the beginning of a stop
/// text is held back.
class StopTextFilter {
 public:
  /// The texts must not be empty.
  explicit StopTextFilter(std::vector<std::string> texts) : texts_(std::move(texts)) {}

  /// Appends a piece and returns the text that is final. If a stop text was completed, this is the
  /// rest of the text before it, and nothing may be added any more.
  std::string add(std::string_view piece);
  /// Returns the text that is held back, at the end of a text without a stop text.
  std::string finish() { return std::exchange(held_, {}); }
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> texts_;
  std::string held_;
  bool stopped_ = false;
};

/// Returns true if `text` contains one of `texts`.
bool contains_any(std::string_view text, const std::vector<std::string>& texts);

/// Returns true if `ids` end with one of `sequences`.
bool ends_with_any(std::span<const std::int64_t> ids, const std::vector<TokenIds>& sequences);

}  // namespace weft
