#include "weft/models/generate/stop_texts.h"

#include <algorithm>

namespace weft {

std::string StopTextFilter::add(std::string_view piece) {
  held_ += piece;
  std::size_t stop = std::string::npos, held = 0;
  for (const std::string& text : texts_) {
    stop = std::min(stop, held_.find(text));
    // The longest end of the held text that is a beginning of this stop text.
    std::size_t length = std::min(text.size() - 1, held_.size());
    while (!held_.ends_with(std::string_view(text).substr(0, length))) --length;
    held = std::max(held, length);
  }
  stopped_ = stop != std::string::npos;
  std::string text = held_.substr(0, stopped_ ? stop : held_.size() - held);
  held_.erase(0, stopped_ ? held_.size() : text.size());
  return text;
}

bool contains_any(std::string_view text, const std::vector<std::string>& texts) {
  return std::any_of(texts.begin(), texts.end(), [&](const std::string& one) {
    return text.find(one) != std::string_view::npos;
  });
}

bool ends_with_any(std::span<const std::int64_t> ids, const std::vector<TokenIds>& sequences) {
  return std::any_of(sequences.begin(), sequences.end(), [&](const TokenIds& end) {
    return ids.size() >= end.size() && std::equal(end.rbegin(), end.rend(), ids.rbegin());
  });
}

bool ends_with_stop_text(const std::vector<std::string>& texts, const Tokenizer& tokenizer,
                         const TokenIds& before, const TokenIds& ids) {
  // Decode only the last ids that may contain a stop text, and the id before them, because it
  // determines whether a leading space belongs to the text. Special ids have no text.
  const auto holds = [&](std::int64_t id) {
    return !tokenizer.is_special(static_cast<std::int32_t>(id));
  };
  std::size_t longest = 0, first = ids.size();
  for (const std::string& text : texts) longest = std::max(longest, text.size());
  for (std::size_t left = longest; first > 0 && left > 0; --first) {
    if (holds(ids[first - 1])) --left;
  }
  while (first > 0 && !holds(ids[first - 1])) --first;
  TokenIds end = first > 0 ? TokenIds{ids[first - 1]} : before;
  const std::size_t known = tokenizer.decode(end).size();
  end.insert(end.end(), ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end());
  return contains_any(tokenizer.decode(end).substr(known), texts);
}

}  // namespace weft
