// The unigram language model (Kudo 2018): a text is segmented into the pieces with the largest sum
// of log-probabilities.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "weft/models/text/tokenizers/subwords/piece_trie.h"
#include "weft/models/text/tokenizers/subwords/scored_piece.h"
#include "weft/models/text/tokenizers/subwords/subword_span.h"

namespace WEFT_API weft {

/// A unigram model. Immutable and thread-safe. Texts must already be normalised. They may contain
/// arbitrary bytes; invalid UTF-8 counts as unknown characters.
class Unigram {
 public:
  using Piece = SubwordSpan;

  using Use = PieceUse;
  using Entry = ScoredPiece;
  struct Options {
    /// The id for characters that no piece covers.
    std::optional<std::int32_t> unknown = {};
    /// If true, sums are rounded to `float`, as in SentencePiece, so that near ties are resolved in
    /// the same way. If false, sums are `double`, as in Hugging Face's tokenizers library.
    bool single_precision = false;
    /// If true, and if the vocabulary contains byte pieces ("<0x0A>") for all bytes in a run of
    /// unknown characters, the run is encoded as these byte pieces.
    bool byte_fallback = false;
  };
  /// A segmentation of a text.
  struct Segmentation {
    std::vector<Piece> pieces;
    double score = 0;  // sum of log-probabilities
  };

  /// Ids are indices in `entries`. Of several equal texts, only the first is used; an empty text is
  /// ignored. Throws ArgumentError if a score is not finite or if `unknown` is not a valid index.
  Unigram(const std::vector<Entry>& entries, const Options& options);

  /// Appends the best segmentation of `text` to `out`. Adjacent unknown characters are encoded as
  /// one id or as byte pieces. Throws DataError if the text has 4 GiB or more, or if it has unknown
  /// characters and there is no unknown id.
  void segment(std::string_view text, std::vector<Piece>& out) const;
  /// Like segment(), but each unknown character has its own id, and byte pieces are never used. If
  /// `sum` is not null, it must be the sum of the scores of the preceding pieces, and is set to the
  /// new sum. This allows a text to be processed in sections whose boundaries no piece crosses,
  /// with the same rounding of sums as if the whole text were processed at once.
  void segment_characters(std::string_view text, std::vector<Piece>& out,
                          double* sum = nullptr) const;
  /// Returns up to `count` segmentations of `text`, the best first, in the form of
  /// segment_characters(). Throws DataError under the same conditions as segment(), and if there
  /// would be more than 2^28 candidates (bytes of `text` times `count`).
  std::vector<Segmentation> best(std::string_view text, std::size_t count) const;
  /// Computes the expected number of occurrences of each piece in a segmentation that is sampled
  /// according to its probability, multiplies it by `weight`, and adds it to `expected`, which is
  /// indexed by id.
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
  std::vector<double> scores_;  // indexed by id; NaN for forced pieces
  /// The best score of the normal pieces, but at least 0, as in SentencePiece.
  double best_score_ = 0;
  double unknown_score_ = 0;
  Options options_;
  std::optional<std::array<std::int32_t, 256>> bytes_;
};

}  // namespace weft
