// Vectors of words from the words around them: skip-gram and CBOW with negative sampling (Mikolov
// et al., "Distributed representations of words and phrases and their compositionality", 2013), and
// with n-grams of characters as fastText's (Bojanowski et al. 2017).
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
  /// False: each word near a word says by itself what that one is (skip-gram). True: the mean of
  /// all of them does (CBOW).
  bool cbow = false;
  std::int64_t width = 100;
  int epochs = 5;
  double rate = 0.025;  // falls linearly, to a 10,000th
  WindowOptions windows = {};
  std::optional<SubwordOptions> subwords = {};
};

/// A run of training. A word w among wrong answers a_1, a_2, ... costs
///   -ln sigmoid(h . w) - ln sigmoid(-h . a_1) - ln sigmoid(-h . a_2) - ...
/// for each word around it, whose row h is, or once with their mean as h (CBOW). Skip-gram with
/// subwords goes the other way, so that a mean is computed once: h is the word, and each word
/// around it takes the place of w. Each row goes down its gradient.
///
/// A step takes kShards pieces of up to kShardWords words: each sums what it adds to the rows that
/// it touches, from the matrices as they were before the step; then the sums are added, piece by
/// piece. So the bits do not depend on the number of threads, and a step costs what its rows cost.
/// Pieces are shorter where a word is so frequent that its row would go too far in one step.
/// Wrong answers are shared by all words around one (Ji et al., "Parallelizing word2vec in shared
/// and distributed memory", 2016), which makes the work products of a few rows with a few rows.
class NegativeSampling {
 public:
  static constexpr std::int64_t kShards = 8, kShardWords = 32;

  /// `text` must outlive it. Throws ArgumentError for options that make no sense.
  NegativeSampling(const WordText& text, const NegativeSamplingOptions& options);

  std::int64_t steps() const { return steps_per_epoch_ * options_.epochs; }
  std::int64_t step() const { return step_; }
  double rate() const;
  /// Words of the text that a step takes (the last one of an epoch: the rest).
  std::int64_t step_words() const { return kShards * shard_words_; }
  /// Takes the next step. Throws StateError behind the last one.
  void advance(Workers& workers);

  WordVectors vectors() const;
  /// The vector of any word, known or not: from its row, if it has one, and its n-grams; zeros
  /// where it has neither.
  std::vector<float> vector_of(std::string_view word) const;

  /// The rows whose mean a word is, and the matrices of those and of answers.
  std::span<const std::int32_t> rows_of(std::int32_t word) const;
  const RowMatrix& rows() const { return rows_; }
  const RowMatrix& answer_rows() const { return answer_rows_; }
  const WordWindows& windows() const { return windows_; }

 private:
  struct Shard;
  void learn(std::int64_t number, Shard& shard) const;
  void take_rows(const WordWindows::Example& example, Shard& shard) const;
  void take_mean(const WordWindows::Example& example, Shard& shard) const;
  void spread_mean(Shard& shard) const;
  std::int64_t take_answers(const WordWindows::Example& example, Shard& shard) const;
  void mean_of(std::span<const std::int32_t> rows, float* to) const;

  const WordText& text_;
  NegativeSamplingOptions options_;
  WordWindows windows_;
  std::int64_t shard_words_ = kShardWords, steps_per_epoch_ = 0, step_ = 0;
  std::vector<std::int32_t> word_rows_;  // of all words, one behind the other
  std::vector<std::int64_t> word_rows_end_;
  RowMatrix rows_, answer_rows_;
  std::vector<Shard> shards_;

 public:
  ~NegativeSampling();
  NegativeSampling(const NegativeSampling&) = delete;
  NegativeSampling& operator=(const NegativeSampling&) = delete;
};

}  // namespace weft
