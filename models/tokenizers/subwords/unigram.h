// The unigram model (Kudo 2018): a text is cut into the pieces whose log-probabilities have the
// largest sum.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/models/tokenizers/subwords/piece_trie.h"
#include "weft/models/tokenizers/subwords/scored_piece.h"
#include "weft/models/tokenizers/subwords/subword_span.h"

namespace WEFT_API weft {

/// A unigram model. Immutable; one for several threads. Texts are taken as they are (normalisers
/// come before): any bytes, but what is no UTF-8 is unknown.
class Unigram {
 public:
  using Piece = SubwordSpan;

  using Use = PieceUse;
  using Entry = ScoredPiece;
  struct Options {
    /// What stands for a character of which no piece is.
    std::optional<std::int32_t> unknown = {};
    /// Sums are rounded to `float` as SentencePiece does it: what is nearly equal goes the same way
    /// as there. Otherwise they are `double`, as in tokenizer.json's library.
    bool single_precision = false;
    /// An unknown run of characters becomes the ids of its bytes, "<0x0A>", where there are all of
    /// these.
    bool byte_fallback = false;
  };
  /// One way to cut a text.
  struct Cut {
    std::vector<Piece> pieces;
    double score = 0;  // the sum of log-probabilities
  };

  /// Ids are places in `entries`; of equal texts the first counts, an empty one none. Throws
  /// ArgumentError where scores are not finite or `unknown` is no place.
  Unigram(const std::vector<Entry>& entries, const Options& options);

  /// Appends the best cut of `text` to `out`; neighbours that are unknown are one, or bytes. Throws
  /// DataError for a text that is longer than 4 GiB, or unknown where there is no id for that.
  void segment(std::string_view text, std::vector<Piece>& out) const;
  /// The same with an id of its own for each unknown character, and never bytes. `sum`, where
  /// given, is that of the pieces before, and becomes that of all: a text that no piece can cross
  /// may be cut there, and sums are rounded as those of the whole.
  void segment_characters(std::string_view text, std::vector<Piece>& out,
                          double* sum = nullptr) const;
  /// Up to `count` cuts of `text`, the best first, as segment_characters() gives one. Throws as
  /// segment(), and for more than 2^28 candidates (`text`'s bytes times `count`).
  std::vector<Cut> best(std::string_view text, std::size_t count) const;
  /// Adds to `expected`, by id, how often each piece occurs in a cut of `text` drawn by its
  /// probability, times `weight`.
  void add_expected(std::string_view text, double weight, std::vector<double>& expected) const;

 private:
  template <class Sum>
  void viterbi(std::string_view text, std::vector<Piece>& out, double* sum) const;
  void best_cut(std::string_view text, std::vector<Piece>& out, double* sum) const;
  template <class Visit>
  void visit_edges(std::string_view text, std::size_t begin, const Visit& visit) const;
  void check(std::string_view text) const;
  std::int32_t unknown_id(std::string_view text, std::size_t at) const;

  PieceTrie trie_;
  std::vector<double> scores_;  // by id; of forced pieces NaN
  double best_score_ = 0;       // SentencePiece's: the best of the normal ones, or 0
  double unknown_score_ = 0;
  Options options_;
  std::optional<std::array<std::int32_t, 256>> bytes_;
};

}  // namespace weft
