// Byte pairs as SentencePiece joins them: of all neighbours that are a piece together, those of the
// piece with the best score, the leftmost first, until none are left.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/tokenizers/subwords/piece_trie.h"
#include "weft/models/tokenizers/subwords/subword_span.h"

namespace weft {

/// A byte-pair model whose pieces have scores. Immutable.
class ScoredBpe {
 public:
  enum class Use : std::uint8_t {
    normal,
    forced,  // a user's symbol: found before all else, the longest first, and joined with nothing
    step,    // joined on the way to others; taken apart again where it is left
    none     // no text becomes it
  };
  struct Entry {
    std::string_view text;
    float score = 0;
    Use use = Use::normal;
  };

  ScoredBpe() = default;
  /// Ids are places in `entries`.
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
