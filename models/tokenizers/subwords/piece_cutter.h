// A text as the pieces of a SentencePiece model, whatever its algorithm.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/models/tokenizers/formats/sentence_piece_model.h"
#include "weft/models/tokenizers/subwords/scored_bpe.h"
#include "weft/models/tokenizers/subwords/unigram.h"

namespace WEFT_API weft {

/// Cuts normalised texts, word by word where no piece reaches from one into the next. Immutable.
class PieceCutter {
 public:
  PieceCutter() = default;  // of no pieces
  explicit PieceCutter(const SentencePieceModel& model);

  /// The pieces of `text`; unknown characters side by side are one, or bytes (those in front of
  /// the last are empty). Throws DataError for a part without cuts of more than 16 MiB.
  std::vector<SubwordSpan> cut(std::string_view text) const;
  /// The best cuts, of unigram models: null for others.
  const Unigram* unigram() const { return std::get_if<Unigram>(&algorithm_); }
  /// Joins unknown characters side by side, or makes them bytes.
  std::vector<SubwordSpan> with_unknown(std::string_view text,
                                        const std::vector<SubwordSpan>& parts) const;

 private:
  struct Words {  // and characters
    PieceTrie pieces, symbols;
    bool whole_words, blank_behind;
    void segment(std::string_view text, std::vector<SubwordSpan>& out) const;
  };

  std::size_t part_end(std::string_view text, std::size_t begin) const;
  void add(std::string_view text, const SubwordSpan& part, std::vector<SubwordSpan>& out) const;

  std::variant<ScoredBpe, Unigram, Words> algorithm_;
  std::vector<std::int32_t> bytes_;  // ids of the 256 bytes; empty = there are none
  std::int32_t unknown_ = -1;
  bool crosses_words_ = false;  // a piece has a blank inside, behind something else
  bool joins_blanks_ = false;   // a piece has two blanks side by side
};

}  // namespace weft
