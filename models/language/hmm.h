// Hidden Markov models as graphs: likelihood, posteriors and the best path (Rabiner 1989).
#pragma once

#include <vector>

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

/// Logarithms of a model's probabilities, f32 or f64: rows of each are normalised for a model, but
/// need not be for the functions below.
struct HmmParameters {
  Value start;       // [states]
  Value transition;  // [states, states]: from row to column
  Value emission;    // [states, symbols]
};

struct HmmOptions {
  /// i32 or i64 [batch]: how many symbols of each row count, at least 1; absent: all.
  OptionalArg lengths = {};
};

/// Logarithm of the probability of each row of `symbols` (i32 or i64 [batch, time]): [batch]. The
/// forward algorithm in log space, a scan over time; differentiable: the gradient of its sum with
/// respect to the log parameters is the expected number of uses of each, which is what the
/// forward-backward algorithm counts.
Value hmm_log_likelihood(const HmmParameters& p, Arg symbols, const HmmOptions& options = {},
                         SourceLocation loc = SourceLocation::current());

/// One step of expectation-maximisation (Baum and Welch): the parameters of greatest likelihood
/// under the expected counts, from the gradient of the likelihood. `counts` are the gradients of
/// hmm_log_likelihood's sum in the order start, transition, emission; rows without any count become
/// uniform.
HmmParameters hmm_maximised(const std::vector<Value>& counts);

/// The most probable states of each row (Viterbi 1967), i64 [batch, time]: 0 behind the row's
/// length; of paths as good as another that with the lower states at the end.
Value hmm_best_path(const HmmParameters& p, Arg symbols, const HmmOptions& options = {},
                    SourceLocation loc = SourceLocation::current());

}  // namespace weft
