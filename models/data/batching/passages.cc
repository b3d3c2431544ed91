#include "weft/models/data/batching/passages.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weft/core/error.h"

namespace weft {
namespace {

/// Splits sentences into parts of at most `tokens` ids. Empty sentences are dropped.
std::vector<TokenIds> parts(const std::vector<TokenIds>& sentences, std::int64_t tokens) {
  std::vector<TokenIds> result;
  for (const TokenIds& sentence : sentences) {
    for (std::int64_t i = 0; i < std::ssize(sentence); i += tokens) {
      const auto end = std::min<std::int64_t>(i + tokens, std::ssize(sentence));
      result.emplace_back(sentence.begin() + i, sentence.begin() + end);
    }
  }
  return result;
}

}  // namespace

Passages::Passages(std::vector<std::vector<TokenIds>> documents, std::int64_t tokens,
                   std::int64_t min_sentences)
    : documents_(std::move(documents)) {
  if (tokens < 2)
    throw ArgumentError(fmt::format("a passage needs at least 2 tokens, not {}", tokens));
  for (auto& document : documents_) document = parts(document, tokens);
  std::erase_if(documents_, [](const auto& document) { return document.empty(); });
  for (std::size_t d = 0; d < documents_.size(); ++d) {
    const std::vector<TokenIds>& document = documents_[d];
    for (std::size_t begin = 0; begin < document.size(); ++begin) {
      all_tokens_ += std::ssize(document[begin]);
      std::int64_t taken = std::ssize(document[begin]);
      std::size_t end = begin + 1;
      while (end < document.size() && taken + std::ssize(document[end]) <= tokens)
        taken += std::ssize(document[end++]);
      if (taken >= 2 && static_cast<std::int64_t>(end - begin) >= min_sentences)
        places_.push_back({d, begin, end});
    }
  }
  if (places_.empty()) {
    throw ArgumentError(fmt::format(
        "no passage of up to {} tokens has at least {} sentence{} and 2 tokens: there are {} "
        "documents with {} tokens in total",
        tokens, min_sentences, min_sentences == 1 ? "" : "s", documents_.size(), all_tokens_));
  }
}

std::vector<TokenIds> Passages::at(std::int64_t i) const {
  if (i < 0 || i >= count())
    throw ArgumentError(fmt::format("passage {} is outside [0, {})", i, count()));
  const Place& place = places_[static_cast<std::size_t>(i)];
  const auto first = documents_[place.document].begin();
  return {first + static_cast<std::ptrdiff_t>(place.begin),
          first + static_cast<std::ptrdiff_t>(place.end)};
}

std::vector<std::int64_t> Passages::cover() const {
  std::vector<std::int64_t> chosen;
  // Sentences of `document` before `covered` are in a selected passage or in no passage at all.
  std::size_t document = 0, covered = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    const Place& place = places_[i];
    if (place.document != document) covered = 0;
    document = place.document;
    if (place.end <= covered) continue;
    // The next passage also begins early enough, so the current passage is not needed.
    const bool later = i + 1 < places_.size() && places_[i + 1].document == document &&
                       places_[i + 1].begin <= covered;
    if (later) continue;
    chosen.push_back(static_cast<std::int64_t>(i));
    covered = place.end;
  }
  return chosen;
}

}  // namespace weft
