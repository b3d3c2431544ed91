#include "weft/models/text/tokenizers/pipeline/added_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/text/tokenizers/subwords/vocabulary.h"
#include "weft/models/text/unicode/characters.h"
#include "weft/models/text/unicode/properties.h"

namespace weft {
namespace {

std::string normalised(std::string_view text, const NormalizerPtr& normaliser) {
  SplitText parts;
  parts.text.assign(text);
  parts.parts.push_back({0, parts.text.size(), -1});
  if (normaliser != nullptr) normaliser->normalise(parts);
  std::string result;
  for (const TextPart& part : parts.parts) result += parts.view(part);
  return result;
}

bool is_whole_word(std::string_view text, std::size_t begin, std::size_t end) {
  return (begin == 0 || !is_word_character(character_before(text, begin))) &&
         (end == text.size() || !is_word_character(character_at(text, end)));
}

/// Returns the start of the whitespace run that ends at `end`, or `least` if the run starts before
/// `least`.
std::size_t whitespace_begin(std::string_view text, std::size_t end, std::size_t least) {
  while (end > least && is_white_space(character_before(text, end))) {
    do --end;
    while (is_continuation(text[end]));
  }
  return end;
}

/// Returns the end of the whitespace run that starts at `begin`.
std::size_t whitespace_end(std::string_view text, std::size_t begin) {
  while (begin < text.size() && is_white_space(character_at(text, begin)))
    begin += character_size(text[begin]);
  return begin;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const NormalizerPtr& normaliser)
    : tokens_(std::move(tokens)) {
  std::stable_sort(tokens_.begin(), tokens_.end(),
                   [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  for (const AddedToken& token : tokens_) {
    if (token.content.empty()) throw FormatError("an added token is empty");
    if (token.id < 0 || token.id > Vocabulary::kHighestId) {
      throw FormatError(fmt::format("the added token '{}' has the id {}; valid ids are 0 to {}",
                                    excerpt(token.content), token.id, Vocabulary::kHighestId));
    }
    if (!by_id_.emplace(token.id, seen_.size()).second)
      throw FormatError(fmt::format("two added tokens have the id {}", token.id));
    if (!by_content_.emplace(token.content, token.id).second)
      throw FormatError(
          fmt::format("two added tokens have the content '{}'", excerpt(token.content)));
    seen_.push_back(token.normalized ? normalised(token.content, normaliser) : token.content);
  }
  before_ = finder(false);
  after_ = finder(true);
}

AddedTokens::Finder AddedTokens::finder(bool normalized) const {
  Finder result;
  std::vector<std::pair<std::string_view, std::int32_t>> pieces;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].normalized != normalized || seen_[i].empty()) continue;
    pieces.emplace_back(seen_[i], static_cast<std::int32_t>(i));
    result.first_bytes.set(static_cast<unsigned char>(seen_[i].front()));
    result.single = !result.any || (result.single && result.first == seen_[i].front());
    result.first = seen_[i].front();
    result.any = true;
  }
  result.trie = PieceTrie(std::move(pieces));
  return result;
}

const AddedToken* AddedTokens::find(std::int32_t id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? nullptr : &tokens_[it->second];
}

std::int32_t AddedTokens::find(std::string_view content) const {
  const auto it = by_content_.find(std::string(content));
  return it == by_content_.end() ? -1 : it->second;
}

std::string_view AddedTokens::seen(std::int32_t id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() ? std::string_view() : seen_[it->second];
}

void AddedTokens::cut(SplitText& parts, bool after_normaliser, bool special,
                      const PlainParts& plain) const {
  const Finder& finder = after_normaliser ? after_ : before_;
  if (!finder.any) return;
  parts.spare.clear();
  for (const TextPart& part : parts.parts) {
    if (part.id >= 0) {
      parts.spare.push_back(part);
      continue;
    }
    const std::string_view text = parts.view(part);
    std::size_t given = 0;  // end of the text that has already been added to `parts.spare`
    const auto give = [&](std::size_t begin, std::size_t end, std::int32_t id) {
      if (begin < end) {
        parts.spare.push_back({part.begin + static_cast<std::uint32_t>(begin),
                               part.begin + static_cast<std::uint32_t>(end), id});
      }
      given = end;
    };
    for (std::size_t at = 0; at < text.size();) {
      if (finder.single) {
        at = std::min(text.find(finder.first, at), text.size());
        if (at == text.size()) break;
      } else if (!finder.first_bytes.test(static_cast<unsigned char>(text[at]))) {
        ++at;
        continue;
      }
      const PieceTrie::Match match = finder.trie.longest(text.substr(at));
      if (match.id < 0) {
        ++at;
        continue;
      }
      const AddedToken& token = tokens_[static_cast<std::size_t>(match.id)];
      std::size_t begin = at, end = at + match.size;
      if (!plain.spans.empty() &&
          plain.cover(parts.text.source(part.begin + static_cast<std::uint32_t>(begin),
                                        part.begin + static_cast<std::uint32_t>(end)),
                      token.id, token.special)) {
        at += character_size(text[at]);  // another token may start inside a rejected match
        continue;
      }
      at = end;
      if ((token.special && !special) || (token.single_word && !is_whole_word(text, begin, end)))
        continue;
      // Text before `given` is never scanned again, which keeps the total time linear in the size
      // of the text.
      if (token.rstrip) end = whitespace_end(text, std::max(end, given));
      if (end <= given) continue;
      if (token.lstrip) begin = whitespace_begin(text, begin, given);
      begin = std::max(begin, given);
      give(given, begin, -1);
      give(begin, end, token.id);
    }
    give(given, text.size(), -1);
  }
  std::swap(parts.parts, parts.spare);
}

}  // namespace weft
