// Decoding of models that were trained with ctc_loss(): logits to ids, outside the graph.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/models/generate/options.h"

namespace WEFT_API weft {

/// A sequence of ids and its score.
struct CtcHypothesis {
  TokenIds ids;
  /// Greedy decoding: the logarithm of the probability of the best alignment. Beam search: the
  /// logarithm of the probability of the ids, summed over the alignments that the search kept.
  double log_probability = 0;
  /// log_probability plus the weighted scores of CtcBeamOptions::scorer and the length bonuses.
  double score = 0;
};

/// Greedy decoding of each row of `logits` (f32 or f64 [batch, time, classes]): takes the most
/// probable class of each step (the smallest of equal ones), merges repeated classes and removes
/// blanks. Probabilities are the softmax of the logits, so log-probabilities may be passed as well.
/// `input_lengths` (i32 or i64 [batch]) contains the number of valid steps of each row; undefined:
/// all steps are valid. ctc_greedy_decode() for Values does the same in the graph.
///
/// Throws ShapeError, DTypeError or ArgumentError for invalid arguments, and DataError, which names
/// row and step, for a length out of range and for steps without a probability distribution (NaN,
/// +inf, or no finite logit).
std::vector<CtcHypothesis> ctc_greedy_decode(const Tensor& logits, const Tensor& input_lengths = {},
                                             std::int64_t blank = 0);

/// Returns the score (usually the log-probability) of id `next` after the ids `prefix`, or, for
/// nullopt, of the end. For language models over words, return 0 for ids that do not complete a
/// word. Called once for each prefix that the search extends and each extension.
using CtcScorer =
    std::function<double(std::span<const std::int64_t> prefix, std::optional<std::int64_t> next)>;

struct CtcBeamOptions {
  std::int64_t blank = 0;
  std::int64_t beams = 100;  // prefixes that are kept after each step
  std::int64_t results = 1;  // hypotheses per row, at most `beams`
  /// If positive, only the most probable classes of a step extend prefixes: this number of classes
  /// without the blank. Reduces the time for large vocabularies.
  std::int64_t top_classes = 0;
  CtcScorer scorer = {};  // may be empty
  double scorer_weight = 1;
  double length_bonus = 0;  // is added to the score for each id
};

/// Prefix beam search (A. Hannun et al., "First-pass large vocabulary continuous speech recognition
/// using bi-directional recurrent DNNs", 2014). The probability of a prefix is the sum over its
/// alignments, in double precision in log space. Returns the best hypotheses of each row, by
/// descending score; there may be fewer than `results`. With enough beams, the result is exact.
/// Operands and errors are those of ctc_greedy_decode(). The cost is O(time * beams * classes) per
/// row.
///   const auto rows = ctc_prefix_beam_search(results["logits"], lengths, {.beams = 25});
///   const TokenIds& best = rows[0][0].ids;
std::vector<std::vector<CtcHypothesis>> ctc_prefix_beam_search(const Tensor& logits,
                                                               const Tensor& input_lengths = {},
                                                               const CtcBeamOptions& options = {});

}  // namespace weft
