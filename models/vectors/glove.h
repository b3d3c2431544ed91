// GloVe: word embeddings whose dot products approximate the logarithms of co-occurrence counts
// (Pennington, Socher and Manning, "GloVe: global vectors for word representation", 2014).
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
  /// Counts of at least max_count have weight 1; smaller counts have weight (count / max_count) ^
  /// power.
  double max_count = 100;
  double power = 0.75;
  std::uint64_t seed = 1;
};

/// A training run on co-occurrence counts X (co_occurrences()). The loss of a non-zero element is
///   weight(X_ij) * (w_i . c_j + b_i + d_j - ln X_ij)^2 / 2.
/// Rows take AdaGrad steps whose sums of squares begin at 1. A step processes kShards shards of
/// kShardCounts elements each, in a random order that the seed determines. The shards compute and
/// sum their gradients from the matrices as they were before the step, so that the result is
/// bit-identical for any number of threads.
class Glove {
 public:
  static constexpr std::int64_t kShards = 8, kShardCounts = 64;

  /// `counts` must outlive the object. Throws ArgumentError if an option is invalid or `counts` has
  /// no elements.
  Glove(const SparseMatrix& counts, const GloveOptions& options);

  std::int64_t steps() const { return steps_per_epoch_ * options_.epochs; }
  std::int64_t step() const { return step_; }
  /// Takes the next step and returns the mean loss of its elements before the step. Throws
  /// StateError after the last step.
  double advance(Workers& workers);

  /// The embeddings w_i + c_i.
  WordVectors vectors(const WordCounts& words) const;

  /// Returns the elements that step `step` processes.
  std::vector<std::int64_t> elements(std::int64_t step) const;
  /// Returns the current loss of an element.
  double cost(std::int64_t element) const;
  /// The rows w_i, followed by b_i and 1, and the rows c_j, followed by 1 and d_j.
  const RowMatrix& words() const { return words_; }
  const RowMatrix& contexts() const { return contexts_; }

 private:
  struct Shard {
    explicit Shard(std::int64_t width) : words(width), contexts(width) {}
    RowSums words, contexts;
    double cost = 0;
  };
  void add_updates(std::int64_t number, Shard& shard) const;
  double weight(double count) const;

  const SparseMatrix& counts_;
  GloveOptions options_;
  std::int64_t steps_per_epoch_ = 0, step_ = 0;
  std::vector<std::int32_t> row_;    // row of each element
  std::vector<std::int64_t> order_;  // elements in training order
  RowMatrix words_, contexts_, word_squares_, context_squares_;
  std::vector<Shard> shards_, totals_;  // totals_: one per part of RowSums
};

}  // namespace weft
