// Word embeddings from the contexts of words: skip-gram and CBOW with negative sampling (Mikolov et
// al., "Distributed representations of words and phrases and their compositionality", 2013),
// optionally with character n-grams as in fastText (Bojanowski et al. 2017).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/models/vectors/row_sums.h"
#include "weft/models/vectors/subwords.h"
#include "weft/models/vectors/word_text.h"
#include "weft/models/vectors/word_vectors.h"
#include "weft/models/vectors/word_windows.h"

namespace WEFT_API weft {

struct NegativeSamplingOptions {
  /// False: each context word separately predicts the word (skip-gram). True: the mean of all
  /// context words predicts the word (CBOW).
  bool cbow = false;
  std::int64_t width = 100;
  int epochs = 5;
  double rate = 0.025;  // learning rate, which decays linearly to 1/10,000 of this
  WindowOptions windows = {};
  std::optional<SubwordOptions> subwords = {};
};

/// A training run. The loss of a word w with negatives n_1, n_2, ... is
///   -ln sigmoid(h . w) - ln sigmoid(-h . n_1) - ln sigmoid(-h . n_2) - ...
/// Skip-gram sums this loss over the context words, with h the row of the context word; CBOW uses
/// it once, with h the mean of all context words. Skip-gram with subwords swaps the roles, so that
/// a mean is computed only once: h is the word, and each context word replaces w. Each row takes an
/// SGD step.
///
/// A step processes kShards shards of up to kShardWords words. Each shard computes and sums its row
/// updates from the matrices as they were before the step. The sums are then added to the matrices,
/// shard by shard. The result is therefore bit-identical for any number of threads, and the cost of
/// a step depends only on the rows that it updates. Shards are shorter if a word is so frequent
/// that its row would move too far in one step. All context words of a word share its negatives (Ji
/// et al., "Parallelizing word2vec in shared and distributed memory", 2016), which turns the work
/// into products of small matrices.
class NegativeSampling {
 public:
  static constexpr std::int64_t kShards = 8, kShardWords = 32;

  /// `text` must outlive the object. Throws ArgumentError if an option is invalid.
  NegativeSampling(const WordText& text, const NegativeSamplingOptions& options);

  std::int64_t steps() const { return steps_per_epoch_ * options_.epochs; }
  std::int64_t step() const { return step_; }
  /// The current learning rate.
  double rate() const;
  /// Words of the text per step; the last step of an epoch processes the rest.
  std::int64_t step_words() const { return kShards * shard_words_; }
  /// Takes the next step. Throws StateError after the last step.
  void advance(Workers& workers);

  /// The embeddings of all words of the text.
  WordVectors vectors() const;
  /// Returns the embedding of any word, known or unknown, computed from its row (if it has one) and
  /// its n-grams. Returns zeros if it has neither.
  std::vector<float> vector_of(std::string_view word) const;

  /// Returns the rows whose mean is the embedding of a word.
  std::span<const std::int32_t> rows_of(std::int32_t word) const;
  /// The matrix of inputs h, and the matrix of predicted words.
  const RowMatrix& rows() const { return rows_; }
  const RowMatrix& output_rows() const { return output_rows_; }
  const WordWindows& windows() const { return windows_; }

 private:
  struct Shard;
  void add_updates(std::int64_t number, Shard& shard) const;
  void take_rows(const WordWindows::Example& example, Shard& shard) const;
  void take_mean(const WordWindows::Example& example, Shard& shard) const;
  void spread_mean(Shard& shard) const;
  std::int64_t take_candidates(const WordWindows::Example& example, Shard& shard) const;
  void mean_of(std::span<const std::int32_t> rows, float* to) const;

  const WordText& text_;
  NegativeSamplingOptions options_;
  WordWindows windows_;
  std::int64_t shard_words_ = kShardWords, steps_per_epoch_ = 0, step_ = 0;
  std::vector<std::int32_t> word_rows_;  // rows_of() for all words, concatenated
  std::vector<std::int64_t> word_rows_end_;
  RowMatrix rows_, output_rows_;
  std::vector<Shard> shards_;

 public:
  ~NegativeSampling();
  NegativeSampling(const NegativeSampling&) = delete;
  NegativeSampling& operator=(const NegativeSampling&) = delete;
};

}  // namespace weft
