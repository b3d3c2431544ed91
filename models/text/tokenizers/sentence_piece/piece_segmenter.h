// Segments texts with a SentencePiece model, for any of its algorithms.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "weft/models/text/tokenizers/sentence_piece/sentence_piece_model.h"
#include "weft/models/text/tokenizers/subwords/scored_bpe.h"
#include "weft/models/text/tokenizers/subwords/unigram.h"

namespace WEFT_API weft {

/// Segments normalised texts. Processes a text word by word if no piece of the model spans several
/// words. Immutable.
class PieceSegmenter {
 public:
  PieceSegmenter() = default;  // creates a segmenter without pieces
  explicit PieceSegmenter(const SentencePieceModel& model);

  /// Returns the pieces of `text`. Adjacent unknown characters are joined into a single piece, or
  /// each of them is replaced by byte pieces, of which only the last has a non-empty span. Throws
  /// DataError if an indivisible part (a word, or the whole text if pieces span words) exceeds 16
  /// MiB.
  std::vector<SubwordSpan> cut(std::string_view text) const;
  /// Returns the unigram model for n-best segmentation, or null for other algorithms.
  const Unigram* unigram() const { return std::get_if<Unigram>(&algorithm_); }
  /// Joins adjacent unknown characters, or replaces them with byte pieces.
  std::vector<SubwordSpan> with_unknown(std::string_view text,
                                        const std::vector<SubwordSpan>& parts) const;

 private:
  // Algorithms that look up whole words or single characters.
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
  bool crosses_words_ = false;  // some pieces contain U+2581 after another character
  bool joins_blanks_ = false;   // some pieces contain two adjacent U+2581
};

}  // namespace weft
