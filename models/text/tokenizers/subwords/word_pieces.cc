#include "weft/models/text/tokenizers/subwords/word_pieces.h"

#include <fmt/format.h>

#include <utility>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/models/text/unicode/characters.h"

namespace weft::subwords {
namespace {

void add_unknown(std::string_view word, std::int32_t unknown, std::string_view token,
                 std::vector<SubwordSpan>& out) {
  if (unknown < 0) {
    throw DataError(
        fmt::format("'{}' is not in the vocabulary, and neither is the unknown token '{}'",
                    excerpt(word), token));
  }
  out.push_back({unknown, 0, static_cast<std::uint32_t>(word.size())});
}

}  // namespace

WordLevel::WordLevel(Vocabulary vocabulary, std::string unknown_token)
    : unknown_token_(std::move(unknown_token)) {
  vocabulary_ = std::move(vocabulary);
  prepare(false);
}

void WordLevel::prepare(bool) { unknown_ = vocabulary_.find(unknown_token_); }

void WordLevel::segment(std::string_view word, std::vector<SubwordSpan>& out) const {
  const std::int32_t id = vocabulary_.find(word);
  if (id < 0) return add_unknown(word, unknown_, unknown_token_, out);
  out.push_back({id, 0, static_cast<std::uint32_t>(word.size())});
}

WordPiece::WordPiece(Vocabulary vocabulary, std::string unknown_token, std::string prefix)
    : unknown_token_(std::move(unknown_token)), prefix_(std::move(prefix)) {
  vocabulary_ = std::move(vocabulary);
  prepare(false);
}

void WordPiece::prepare(bool) {
  unknown_ = vocabulary_.find(unknown_token_);
  std::vector<std::pair<std::string_view, std::int32_t>> first, next;
  for (std::int32_t id = 0; id < vocabulary_.size(); ++id) {
    const std::string_view piece = vocabulary_.piece(id);
    if (!vocabulary_.has(id) || piece.empty()) continue;
    first.emplace_back(piece, id);
    if (piece.starts_with(prefix_) && piece.size() > prefix_.size())
      next.emplace_back(piece.substr(prefix_.size()), id);
  }
  first_ = PieceTrie(std::move(first));
  next_ = PieceTrie(std::move(next));
}

void WordPiece::segment(std::string_view word, std::vector<SubwordSpan>& out) const {
  const std::size_t before = out.size();
  const bool too_long = word.size() > longest_word_ && count_characters(word) > longest_word_;
  std::size_t at = 0;
  while (!too_long && at < word.size()) {
    const PieceTrie::Match match = (at == 0 ? first_ : next_).longest(word.substr(at));
    if (match.id < 0) break;
    out.push_back(
        {match.id, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + match.size)});
    at += match.size;
  }
  if (at == word.size()) return;
  out.resize(before);
  add_unknown(word, unknown_, unknown_token_, out);
}

}  // namespace weft::subwords
