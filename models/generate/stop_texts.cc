#include "weft/models/generate/stop_texts.h"

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/generate/search.h"

namespace weft {

bool contains_any(std::string_view text, const std::vector<std::string>& texts) {
  return std::any_of(texts.begin(), texts.end(), [&](const std::string& one) {
    return text.find(one) != std::string_view::npos;
  });
}

void stop_at(const std::vector<std::string>& texts, const Tokenizer& tokenizer,
             const std::vector<TokenIds>& prompts, GenerationOptions& options) {
  if (texts.empty()) return;
  std::size_t longest = 0;
  for (const std::string& text : texts) {
    if (text.empty()) throw ArgumentError("a stop text is empty; an empty text matches everywhere");
    longest = std::max(longest, text.size());
  }
  if (tokenizer.reads_characters()) {
    for (const std::string& text : texts) {
      const auto ids = tokenizer.encode(text);
      options.stop_sequences.emplace_back(ids.begin(), ids.end());
    }
    return;
  }
  options.stop = [=, &tokenizer, per_prompt = rows_per_prompt(options)](
                     std::int64_t row, std::span<const std::int64_t> ids) {
    // Decode only the last ids that may contain a stop text, and the id before them, because it
    // determines whether a leading space belongs to the text. Special ids have no text.
    const auto holds = [&](std::int64_t id) {
      return !tokenizer.is_special(static_cast<std::int32_t>(id));
    };
    std::size_t first = ids.size();
    for (std::size_t left = longest; first > 0 && left > 0; --first) {
      if (holds(ids[first - 1])) --left;
    }
    while (first > 0 && !holds(ids[first - 1])) --first;
    const TokenIds& prompt = prompts[static_cast<std::size_t>(row / per_prompt)];
    TokenIds end = first > 0 ? TokenIds{ids[first - 1]} : prompt;
    const std::size_t known = tokenizer.decode(end).size();
    end.insert(end.end(), ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end());
    return contains_any(tokenizer.decode(end).substr(known), texts);
  };
}

}  // namespace weft
