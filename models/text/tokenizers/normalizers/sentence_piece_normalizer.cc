#include "weft/models/text/tokenizers/normalizers/sentence_piece_normalizer.h"

#include <fmt/format.h>

#include <limits>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/base/sentence_piece_text.h"
#include "weft/models/text/unicode/characters.h"

namespace weft {
namespace {

PieceTrie trie_of(const std::vector<std::string_view>& symbols) {
  std::vector<std::pair<std::string_view, std::int32_t>> pieces;
  for (const std::string_view symbol : symbols) pieces.emplace_back(symbol, 0);
  return PieceTrie(std::move(pieces));
}

}  // namespace

SentencePieceNormalizer::SentencePieceNormalizer(const Rules& rules, PrecompiledMap map,
                                                 const std::vector<std::string_view>& symbols)
    : rules_(rules),
      map_(std::move(map)),
      symbols_(trie_of(symbols)),
      has_symbols_(!symbols.empty()) {
  for (unsigned c = 0; c < 128; ++c) stays_[c] = map_.keeps_ascii(static_cast<unsigned char>(c));
  stays_[' '] = false;
  for (const std::string_view symbol : symbols) {
    if (!symbol.empty()) stays_[static_cast<unsigned char>(symbol.front())] = false;
  }
}

SentencePieceNormalizer::Part SentencePieceNormalizer::next_part(std::string_view text) const {
  if (has_symbols_) {
    if (const std::size_t size = symbols_.longest(text).size; size > 0)
      return {text.substr(0, size), size};
  }
  if (!map_.empty()) {
    if (const auto rule = map_.longest(text)) return {rule->replacement, rule->size};
  }
  const int size = examine_character(text, 0);
  if (size < 0) return {kReplacementCharacter, 1};
  return {text.substr(0, static_cast<std::size_t>(size)), static_cast<std::size_t>(size)};
}

std::string SentencePieceNormalizer::normalise(std::string_view text, TextPlace place,
                                               std::vector<std::uint32_t>* origins) const {
  if (text.size() >= std::numeric_limits<std::uint32_t>::max())
    throw DataError(fmt::format("cannot tokenize a text of {} bytes: it must be smaller than 4 GiB",
                                text.size()));
  const bool begins = place == TextPlace::beginning;
  const std::string_view blank = rules_.escape_whitespace ? sentence_piece::kBlank : " ";
  std::string result;
  std::size_t at = 0;
  if (origins != nullptr) origins->clear();
  const auto append = [&](std::string_view bytes) {
    result += bytes;
    if (origins != nullptr)
      origins->insert(origins->end(), bytes.size(), static_cast<std::uint32_t>(at));
  };
  const auto finish = [&] {
    if (origins != nullptr) origins->push_back(static_cast<std::uint32_t>(at));
  };
  if (rules_.remove_extra_whitespace && begins) {
    for (; at < text.size();) {
      const Part part = next_part(text.substr(at));
      if (part.becomes != " ") break;
      at += part.size;
    }
  }
  if (at == text.size()) {
    finish();
    return result;
  }
  result.reserve(text.size() + text.size() / 2);
  if (origins != nullptr) origins->reserve(text.size() + text.size() / 2);
  if (begins && rules_.dummy_prefix && !rules_.whitespace_as_suffix) append(blank);
  bool after_blank = rules_.remove_extra_whitespace && begins;
  while (at < text.size()) {
    std::size_t end = at;
    while (end < text.size() && stays_[static_cast<unsigned char>(text[end])] &&
           (end + 1 == text.size() || is_ascii(text[end + 1])))
      ++end;
    if (end > at) {
      result.append(text, at, end - at);
      for (; at < end; ++at) {
        if (origins != nullptr) origins->push_back(static_cast<std::uint32_t>(at));
      }
      after_blank = false;
      continue;
    }
    const Part part = next_part(text.substr(at));
    std::string_view becomes = part.becomes;
    while (after_blank && becomes.starts_with(' ')) becomes.remove_prefix(1);
    if (!becomes.empty()) {
      after_blank = rules_.remove_extra_whitespace && becomes.ends_with(' ');
      for (std::size_t i = 0; i < becomes.size();) {
        if (becomes[i] == ' ') {
          append(blank);
          ++i;
          continue;
        }
        const std::size_t next = std::min(becomes.find(' ', i), becomes.size());
        append(becomes.substr(i, next - i));
        i = next;
      }
    }
    at += part.size;
  }
  if (rules_.remove_extra_whitespace) {
    while (std::string_view(result).ends_with(blank)) {
      result.resize(result.size() - blank.size());
      if (origins == nullptr) continue;
      at = (*origins)[result.size()];
      origins->resize(result.size());
    }
  }
  if (begins && rules_.dummy_prefix && rules_.whitespace_as_suffix) append(blank);
  finish();
  return result;
}

}  // namespace weft
