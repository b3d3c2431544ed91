#include "weft/models/text/tokenizers/decoders/decoders.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/subwords/byte_pieces.h"
#include "weft/models/text/unicode/characters.h"
#include "weft/models/text/unicode/repair.h"

namespace weft::decoders {
namespace {

/// Replaces every occurrence of `from` in `text` with `to`.
void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty() || text.find(from) == std::string::npos) return;
  std::string result;
  std::size_t last = 0;
  for (std::size_t at; (at = text.find(from, last)) != std::string::npos; last = at + from.size()) {
    result.append(text, last, at - last);
    result += to;
  }
  text = result.append(text, last);
}

/// Limits the growth of a piece, because chained replacements could expand a few bytes without
/// bound.
void check_growth(std::size_t made, std::size_t of) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  if (made > kMost && made > of)
    throw DataError(
        fmt::format("the tokenizer's decoder expands a piece to more than {} bytes", kMost));
}

/// Removes spaces before punctuation and English contractions.
void clean_up(std::string& text) {
  constexpr std::pair<std::string_view, std::string_view> kRules[] = {
      {" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
      {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
      {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
  for (const auto& [from, to] : kRules) replace_all(text, from, to);
}

}  // namespace

void ByteLevel::decode(Pieces& pieces, bool keep_bytes) const {
  std::string bytes;
  for (const std::string& piece : pieces) {
    if (const auto spelled = spelled_bytes(piece)) {
      bytes += *spelled;
    } else {
      bytes += piece;
    }
  }
  pieces.assign(1, keep_bytes ? std::move(bytes) : repaired(bytes));
}

void WordPiece::decode(Pieces& pieces, bool) const {
  bool first = true;
  for (std::string& piece : pieces) {
    if (!std::exchange(first, false)) {
      if (piece.starts_with(prefix_)) {
        piece.erase(0, prefix_.size());
      } else {
        piece.insert(0, 1, ' ');
      }
    }
    if (cleanup_) clean_up(piece);
  }
}

void Bpe::decode(Pieces& pieces, bool) const {
  for (std::string& piece : pieces)
    replace_all(piece, suffix_, &piece == &pieces.back() ? "" : " ");
}

void Metaspace::decode(Pieces& pieces, bool) const {
  const std::string mark = utf8(settings_.replacement);
  const bool prepends = settings_.prepend_scheme != PrependScheme::never;
  for (std::string& piece : pieces)
    replace_all(piece, mark, prepends && &piece == &pieces.front() ? "" : " ");
}

void ByteFallback::decode(Pieces& pieces, bool keep_bytes) const {
  Pieces result;
  std::string bytes;
  const auto flush = [&] {
    if (bytes.empty()) return;
    if (keep_bytes || find_invalid_utf8(bytes) == bytes.size()) {
      result.push_back(bytes);
    } else {
      for (std::size_t i = 0; i < bytes.size(); ++i) result.emplace_back(kReplacementCharacter);
    }
    bytes.clear();
  };
  for (std::string& piece : pieces) {
    if (const auto byte = byte_of_piece(piece)) {
      bytes += static_cast<char>(*byte);
    } else {
      flush();
      result.push_back(std::move(piece));
    }
  }
  flush();
  pieces = std::move(result);
}

void Fuse::decode(Pieces& pieces, bool) const {
  std::string whole;
  for (const std::string& piece : pieces) whole += piece;
  pieces.assign(1, whole);
}

void Strip::decode(Pieces& pieces, bool) const {
  const std::string content = utf8(content_);
  for (std::string& piece : pieces) {
    std::string_view text = piece;
    for (std::uint64_t i = 0; i < start_ && text.starts_with(content); ++i)
      text.remove_prefix(content.size());
    for (std::uint64_t i = 0; i < stop_ && text.ends_with(content); ++i)
      text.remove_suffix(content.size());
    piece = std::string(text);
  }
}

void Replace::decode(Pieces& pieces, bool) const {
  Regex::Matches match(*regex_);
  for (std::string& piece : pieces) {
    if (find_invalid_utf8(piece) < piece.size()) continue;  // kept bytes that are not valid UTF-8
    std::string result;
    std::size_t last = 0;
    for (match.restart(piece); match.next(); last = match.end()) {
      result += std::string_view(piece).substr(last, match.begin() - last);
      result += content_;
      check_growth(result.size(), piece.size());
    }
    result += std::string_view(piece).substr(last);
    piece = std::move(result);
  }
}

void Ctc::decode(Pieces& pieces, bool) const {
  pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
  for (std::string& piece : pieces) {
    replace_all(piece, pad_token_, "");
    if (!cleanup_) continue;
    clean_up(piece);
    replace_all(piece, word_delimiter_token_, " ");
  }
  std::erase_if(pieces, [](const std::string& piece) { return piece.empty(); });
}

}  // namespace weft::decoders
