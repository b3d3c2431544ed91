// Segmentation of a text with a SentencePiece model of any algorithm.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/models/tokenizers/formats/sentence_piece_model.h"
#include "weft/models/tokenizers/subwords/scored_bpe.h"
#include "weft/models/tokenizers/subwords/unigram.h"

namespace WEFT_API weft {

/// Segments normalised texts. Works word by word if no piece of the model spans several words.
/// Immutable.
class PieceSegmenter {
 public:
  PieceSegmenter() = default;  // without pieces
  explicit PieceSegmenter(const SentencePieceModel& model);

  /// Returns the pieces of `text`. Adjacent unknown characters are joined into one piece, or each
  /// becomes byte pieces, of which only the last has a non-empty span. Throws DataError for an
  /// indivisible part (a word, or the whole text if pieces span words) of more than 16 MiB.
  std::vector<SubwordSpan> cut(std::string_view text) const;
  /// Returns the unigram model, for n-best segmentation; null for other algorithms.
  const Unigram* unigram() const { return std::get_if<Unigram>(&algorithm_); }
  /// Joins adjacent unknown characters, or replaces them by byte pieces.
  std::vector<SubwordSpan> with_unknown(std::string_view text,
                                        const std::vector<SubwordSpan>& parts) const;

 private:
  // The algorithms that look up whole words or single characters.
  struct Words {
    PieceTrie pieces, symbols;
    bool whole_words, blank_is_suffix;
    void segment(std::string_view text, std::vector<SubwordSpan>& out) const;
  };

  std::size_t part_end(std::string_view text, std::size_t begin) const;
  void add(std::string_view text, const SubwordSpan& part, std::vector<SubwordSpan>& out) const;

  std::variant<ScoredBpe, Unigram, Words> algorithm_;
  std::vector<std::int32_t> bytes_;  // ids of the 256 byte pieces, or empty
  std::int32_t unknown_ = -1;
  bool crosses_words_ = false;  // some piece has U+2581 after another character
  bool joins_blanks_ = false;   // some piece has two adjacent U+2581
};

}  // namespace weft
