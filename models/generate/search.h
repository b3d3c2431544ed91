// Searching for the most likely continuation: greedily, or with beams.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "weft/core/tensor.h"

namespace weft {

struct SearchOptions {
  std::int64_t beams = 1;        // 1 = greedy: always the most likely token (the first of equals)
  std::int64_t max_length = 20;  // ids, with those that the sequence starts from
  std::int64_t min_length = 0;   // no eos_id before there are as many
  std::int64_t eos_id = -1;      // ends a sequence; -1 = none
  std::int64_t pad_id = 0;       // fills up what ended earlier
  /// The only possible id in the last place before max_length, or after the start; -1 = none.
  std::int64_t forced_eos_id = -1, forced_bos_id = -1;
  std::int64_t no_repeat_ngram = 0;  // n: no n adjacent ids occur twice in a sequence; 0 = may
  std::vector<std::int64_t> forbidden = {};  // ids that are not taken; others are scored as ever
  // Beams only.
  double length_penalty = 1;             // scores are divided by length^length_penalty
  bool early_stopping = false;           // done as soon as there are `beams` finished sequences
  std::int64_t results = 1;              // best sequences per prompt, at most `beams`
  std::vector<std::int64_t> never = {};  // ids that are not even scored (padding, in Marian)

  /// Throws ArgumentError naming the option, its value and what is allowed.
  void check() const;
};

/// Logits f32 [rows, vocab] of what follows `tokens` i64 [rows, new], which stand after `position`
/// ids that the model has seen already; row r goes on from row parents[r] (i64 [rows]), one of the
/// same prompt. Every prompt has `beams` rows.
using DecodeStep =
    std::function<Tensor(const Tensor& tokens, std::int64_t position, const Tensor& parents)>;

struct SearchResult {
  /// `results` sequences per prompt, best first, as long as the longest.
  std::vector<std::vector<std::int64_t>> sequences;
  /// Beams only: sum of log-probabilities / length^length_penalty, eos_id not counted as length.
  std::vector<double> scores;
};

/// Continues `starts`, i64 [prompts, length]. Beams work as in Hugging Face's library: of the 2 *
/// beams best candidates of a prompt those with eos_id among the first `beams` finish a sequence,
/// others go on. Log-probabilities are computed in double, so that ties do not depend on the CPU.
/// Throws ArgumentError for options out of range, ShapeError for logits of another shape.
SearchResult search(const DecodeStep& step, const Tensor& starts, const SearchOptions& options);

}  // namespace weft
