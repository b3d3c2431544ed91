// BPE as in SentencePiece: repeatedly merges the pair of adjacent symbols that forms the piece with
// the best score (the leftmost such pair if there are several), until no pair forms a piece.
#pragma once

#include <string_view>
#include <vector>

#include "weft/models/text/tokenizers/subwords/piece_trie.h"
#include "weft/models/text/tokenizers/subwords/scored_piece.h"
#include "weft/models/text/tokenizers/subwords/subword_span.h"

namespace WEFT_API weft {

/// A BPE model in which the scores of pieces determine the order of merges. Immutable.
class ScoredBpe {
 public:
  using Use = PieceUse;
  using Entry = ScoredPiece;

  ScoredBpe() = default;
  /// Ids are indices in `entries`. Scores are rounded to `float`. Forced pieces are matched before
  /// all other pieces, the longest first, and are never merged with neighbours.
  explicit ScoredBpe(const std::vector<Entry>& entries);

  /// Appends the pieces of `text` to `out`. Unknown characters have the id -1. Requires about a
  /// hundred bytes of memory per byte of `text`.
  void segment(std::string_view text, std::vector<SubwordSpan>& out) const;

 private:
  struct Part;
  struct Work;
  void consider(Work& work, std::size_t left, std::size_t right) const;
  void put(const Work& work, const SubwordSpan& part, std::vector<SubwordSpan>& out) const;

  PieceTrie trie_, symbols_;
  std::vector<float> scores_;
  std::vector<bool> is_step_;
};

}  // namespace weft
