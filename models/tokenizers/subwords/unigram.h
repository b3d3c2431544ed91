// The unigram language model (Kudo 2018): a text is segmented into the pieces with the largest sum
// of log-probabilities.
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

/// A unigram model. Immutable; may be shared by threads. Texts must be normalised beforehand. They
/// may hold any bytes; invalid UTF-8 is unknown.
class Unigram {
 public:
  using Piece = SubwordSpan;

  using Use = PieceUse;
  using Entry = ScoredPiece;
  struct Options {
    /// The id of characters that no piece covers.
    std::optional<std::int32_t> unknown = {};
    /// Round sums to `float` as SentencePiece does, so that near ties are resolved in the same way.
    /// Otherwise sums are `double`, as in Hugging Face's tokenizers library.
    bool single_precision = false;
    /// A run of unknown characters becomes the ids of its byte pieces ("<0x0A>") if the vocabulary
    /// has all of them.
    bool byte_fallback = false;
  };
  /// A segmentation of a text.
  struct Segmentation {
    std::vector<Piece> pieces;
    double score = 0;  // the sum of log-probabilities
  };

  /// Ids are indices in `entries`. Of equal texts, the first counts; an empty text is ignored.
  /// Throws ArgumentError if a score is not finite or `unknown` is not a valid index.
  Unigram(const std::vector<Entry>& entries, const Options& options);

  /// Appends the best segmentation of `text` to `out`. Adjacent unknown characters become one id,
  /// or byte pieces. Throws DataError for a text of 4 GiB or more, or for unknown characters if
  /// there is no unknown id.
  void segment(std::string_view text, std::vector<Piece>& out) const;
  /// As segment(), with one id for each unknown character, and never byte pieces. If `sum` is not
  /// null, it holds the sum of the preceding pieces and is set to the new total. A text can thus be
  /// processed in sections whose boundaries no piece crosses, with the same rounding of sums as for
  /// the whole text.
  void segment_characters(std::string_view text, std::vector<Piece>& out,
                          double* sum = nullptr) const;
  /// Returns up to `count` segmentations of `text`, the best first, in the form of
  /// segment_characters(). Throws as segment(), and for more than 2^28 candidates (bytes of `text`
  /// times `count`).
  std::vector<Segmentation> best(std::string_view text, std::size_t count) const;
  /// Adds to `expected`, by id, the expected number of occurrences of each piece in a segmentation
  /// that is sampled by its probability, times `weight`.
  void add_expected(std::string_view text, double weight, std::vector<double>& expected) const;

 private:
  template <class Sum>
  void viterbi(std::string_view text, std::vector<Piece>& out, double* sum) const;
  void best_segmentation(std::string_view text, std::vector<Piece>& out, double* sum) const;
  template <class Visit>
  void visit_edges(std::string_view text, std::size_t begin, const Visit& visit) const;
  void check(std::string_view text) const;
  std::int32_t unknown_id(std::string_view text, std::size_t at) const;

  PieceTrie trie_;
  std::vector<double> scores_;  // by id; NaN for forced pieces
  double best_score_ = 0;       // best score of the normal pieces, or 0, as in SentencePiece
  double unknown_score_ = 0;
  Options options_;
  std::optional<std::array<std::int32_t, 256>> bytes_;
};

}  // namespace weft
