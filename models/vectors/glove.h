// Vectors whose products are logarithms of how often words stand near each other (Pennington,
// Socher and Manning, "GloVe: global vectors for word representation", 2014).
#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/models/vectors/row_sums.h"
#include "weft/models/vectors/sparse_matrix.h"
#include "weft/models/vectors/word_text.h"
#include "weft/models/vectors/word_vectors.h"

namespace WEFT_API weft {

struct GloveOptions {
  std::int64_t width = 100;
  int epochs = 15;
  double rate = 0.05;
  double most = 100;  // counts from here on weigh 1, smaller ones (count / most) ^ power
  double power = 0.75;
  std::uint64_t seed = 1;
};

/// A run of training on counts X (co_occurrences()). An element that is not zero costs
///   weight(X_ij) * (w_i . c_j + b_i + d_j - ln X_ij)^2 / 2,
/// and rows go down the gradient of a step by AdaGrad, whose sums of squares begin at 1. A step
/// takes kShards pieces of kShardCounts elements in a random order that the seed gives; the pieces
/// sum what they add from the matrices as they were, so that the bits do not depend on the number
/// of threads.
class Glove {
 public:
  static constexpr std::int64_t kShards = 8, kShardCounts = 64;

  /// `counts` must outlive it. Throws ArgumentError for options that make no sense and for counts
  /// without an element.
  Glove(const SparseMatrix& counts, const GloveOptions& options);

  std::int64_t steps() const { return steps_per_epoch_ * options_.epochs; }
  std::int64_t step() const { return step_; }
  /// Takes the next step and returns the mean cost of its elements before it. Throws StateError
  /// behind the last one.
  double advance(Workers& workers);

  /// w_i + c_i for each word.
  WordVectors vectors(const WordCounts& words) const;

  /// The elements that step `step` takes.
  std::vector<std::int64_t> elements(std::int64_t step) const;
  /// What an element costs now.
  double cost(std::int64_t element) const;
  /// w_i with b_i and 1 behind it, and c_j with 1 and d_j.
  const RowMatrix& words() const { return words_; }
  const RowMatrix& contexts() const { return contexts_; }

 private:
  struct Shard {
    explicit Shard(std::int64_t width) : words(width), contexts(width) {}
    RowSums words, contexts;
    double cost = 0;
  };
  void learn(std::int64_t number, Shard& shard) const;
  double weight(double count) const;

  const SparseMatrix& counts_;
  GloveOptions options_;
  std::int64_t steps_per_epoch_ = 0, step_ = 0;
  std::vector<std::int32_t> row_;    // of the elements
  std::vector<std::int64_t> order_;  // of the elements
  RowMatrix words_, contexts_, word_squares_, context_squares_;
  std::vector<Shard> shards_, totals_;  // totals: of the parts of RowSums
};

}  // namespace weft
