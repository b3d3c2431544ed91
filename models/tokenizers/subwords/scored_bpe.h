// Byte pairs as SentencePiece joins them: of all neighbours that are a piece together, those of the
// piece with the best score, the leftmost first, until none are left.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/tokenizers/subwords/piece_trie.h"
#include "weft/models/tokenizers/subwords/scored_piece.h"
#include "weft/models/tokenizers/subwords/subword_span.h"

namespace WEFT_API weft {

/// A byte-pair model whose pieces have scores. Immutable.
class ScoredBpe {
 public:
  using Use = PieceUse;
  using Entry = ScoredPiece;

  ScoredBpe() = default;
  /// Ids are places in `entries`, whose scores are `float`. Forced ones are found before all else,
  /// the longest first, and joined with nothing.
  explicit ScoredBpe(const std::vector<Entry>& entries);

  /// Appends the pieces of `text` to `out`; a character that is unknown has the id -1. Takes some
  /// hundred bytes of memory for each byte of `text`.
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
