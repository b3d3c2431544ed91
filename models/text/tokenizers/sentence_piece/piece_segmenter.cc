#include "weft/models/text/tokenizers/sentence_piece/piece_segmenter.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/base/sentence_piece_text.h"
#include "weft/models/text/unicode/utf8.h"

namespace weft {
namespace {

using Kind = SentencePieceModel::Kind;
using Algorithm = SentencePieceModel::Algorithm;
using sentence_piece::kBlank;

// Maximum size of an indivisible part. BPE requires about 1.5 GB of memory for a part of this size.
constexpr std::size_t kLongestPart = std::size_t{16} << 20;

bool has_two_blanks(std::string_view text) {
  for (std::size_t at = text.find(kBlank); at != std::string_view::npos;
       at = text.find(kBlank, at + 1)) {
    if (text.substr(at + kBlank.size()).starts_with(kBlank)) return true;
  }
  return false;
}

bool has_inner_blank(std::string_view text) {
  for (std::size_t at = text.find(kBlank, 1); at != std::string_view::npos;
       at = text.find(kBlank, at + 1)) {
    if (!text.substr(0, at).ends_with(kBlank)) return true;
  }
  return false;
}

std::vector<ScoredPiece> scored(const SentencePieceModel& model) {
  std::vector<ScoredPiece> pieces;
  pieces.reserve(model.pieces.size());
  for (const auto& [text, score, kind] : model.pieces) {
    const PieceUse use = kind == Kind::normal   ? PieceUse::normal
                         : kind == Kind::symbol ? PieceUse::forced
                         : kind == Kind::unused ? PieceUse::step
                                                : PieceUse::none;
    pieces.push_back({text, score, use});
  }
  return pieces;
}

}  // namespace

PieceSegmenter::PieceSegmenter(const SentencePieceModel& model) : unknown_(model.unknown()) {
  std::vector<std::pair<std::string_view, std::int32_t>> pieces, symbols;
  for (std::size_t i = 0; i < model.pieces.size(); ++i) {
    const auto& [text, score, kind] = model.pieces[i];
    const auto id = static_cast<std::int32_t>(i);
    if (kind == Kind::byte) bytes_.push_back(id);
    if (kind == Kind::symbol) symbols.emplace_back(text, id);
    if (kind != Kind::normal && kind != Kind::symbol && kind != Kind::unused) continue;
    pieces.emplace_back(text, id);
    crosses_words_ = crosses_words_ || has_inner_blank(text);
    joins_blanks_ = joins_blanks_ || has_two_blanks(text);
  }
  // The alphabetical order of the byte pieces' names is the order of their byte values.
  std::sort(bytes_.begin(), bytes_.end(), [&](std::int32_t a, std::int32_t b) {
    return model.pieces[static_cast<std::size_t>(a)].text <
           model.pieces[static_cast<std::size_t>(b)].text;
  });
  if (model.byte_fallback ? bytes_.size() != 256 : !bytes_.empty()) {
    throw ArgumentError(
        fmt::format("a SentencePiece model has {} byte pieces, but byte fallback is {}",
                    bytes_.size(), model.byte_fallback ? "on (256 are needed)" : "off"));
  }
  switch (model.algorithm) {
    case Algorithm::unigram:
      algorithm_.emplace<Unigram>(scored(model),
                                  Unigram::Options{.unknown = unknown_, .single_precision = true});
      break;
    case Algorithm::byte_pairs: algorithm_.emplace<ScoredBpe>(scored(model)); break;
    case Algorithm::words:
    case Algorithm::characters:
      algorithm_.emplace<Words>(Words{PieceTrie(std::move(pieces)), PieceTrie(std::move(symbols)),
                                      model.algorithm == Algorithm::words,
                                      model.whitespace_as_suffix});
      crosses_words_ = crosses_words_ || model.whitespace_as_suffix;
  }
}

void PieceSegmenter::Words::segment(std::string_view text, std::vector<SubwordSpan>& out) const {
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = begin;
    if (!whole_words) {
      const std::size_t symbol = symbols.longest(text.substr(begin)).size;
      end = begin + (symbol > 0 ? symbol : character_size(text, begin));
    } else if (blank_is_suffix) {
      const std::size_t blank = text.find(kBlank, begin);
      end = blank == std::string_view::npos ? text.size() : blank + kBlank.size();
    } else {
      end = std::min(text.find(kBlank, begin + 1), text.size());
    }
    out.push_back({pieces.find(text.substr(begin, end - begin)), static_cast<std::uint32_t>(begin),
                   static_cast<std::uint32_t>(end)});
    begin = end;
  }
}

std::size_t PieceSegmenter::part_end(std::string_view text, std::size_t begin) const {
  if (crosses_words_) return text.size();
  for (std::size_t at = begin + 1;; ++at) {
    at = text.find(kBlank, at);
    if (at == std::string_view::npos) return text.size();
    if (!joins_blanks_ || !text.substr(begin, at - begin).ends_with(kBlank)) return at;
  }
}

void PieceSegmenter::add(std::string_view text, const SubwordSpan& part,
                         std::vector<SubwordSpan>& out) const {
  if (part.id >= 0 && part.id != unknown_) {
    out.push_back(part);
  } else if (bytes_.empty()) {
    if (!out.empty() && out.back().id == unknown_)
      out.back().end = part.end;
    else
      out.push_back({unknown_, part.begin, part.end});
  } else {
    for (std::uint32_t at = part.begin; at < part.end; ++at) {
      out.push_back({bytes_[static_cast<unsigned char>(text[at])], part.begin,
                     at + 1 == part.end ? part.end : part.begin});
    }
  }
}

std::vector<SubwordSpan> PieceSegmenter::with_unknown(std::string_view text,
                                                      const std::vector<SubwordSpan>& parts) const {
  std::vector<SubwordSpan> result;
  result.reserve(parts.size());
  for (const SubwordSpan& part : parts) add(text, part, result);
  return result;
}

std::vector<SubwordSpan> PieceSegmenter::cut(std::string_view text) const {
  std::vector<SubwordSpan> result, parts;
  double sum = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = part_end(text, begin);
    if (end - begin > kLongestPart) {
      throw DataError(
          fmt::format("cannot tokenize a {} of {} bytes at byte {} of a text: at most {} bytes are "
                      "supported; break it up",
                      crosses_words_ ? "line" : "word", end - begin, begin, kLongestPart));
    }
    const std::string_view word = text.substr(begin, end - begin);
    parts.clear();
    if (const Unigram* model = unigram()) {
      model->segment_characters(word, parts, &sum);
    } else if (const ScoredBpe* pairs = std::get_if<ScoredBpe>(&algorithm_)) {
      pairs->segment(word, parts);
    } else {
      std::get<Words>(algorithm_).segment(word, parts);
    }
    for (SubwordSpan part : parts) {
      part.begin += static_cast<std::uint32_t>(begin);
      part.end += static_cast<std::uint32_t>(begin);
      add(text, part, result);
    }
    begin = end;
  }
  return result;
}

}  // namespace weft
