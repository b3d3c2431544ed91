// Hidden Markov models as graphs: likelihood, re-estimation and the best path (Rabiner 1989).
#pragma once

#include <vector>

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

/// Log probabilities of a hidden Markov model, f32 or f64. The rows of a model are normalised, but
/// the functions below do not require it.
struct HmmParameters {
  Value start;       // [states]
  Value transition;  // [states, states]: from the row's state to the column's
  Value emission;    // [states, symbols]
};

struct HmmOptions {
  /// i32 or i64 [batch]: number of valid symbols of each row, at least 1. If absent, all symbols
  /// are valid.
  OptionalArg lengths = {};
};

/// Returns the log-likelihood [batch] of each row of `symbols` (i32 or i64 [batch, time]). This is
/// the forward algorithm in log space, a scan over time. It is differentiable: the gradient of the
/// sum with respect to the log parameters is the expected number of uses of each parameter, i.e.
/// the counts of the forward-backward algorithm.
Value hmm_log_likelihood(const HmmParameters& p, Arg symbols, const HmmOptions& options = {},
                         SourceLocation loc = SourceLocation::current());

/// The M step of expectation-maximisation (Baum and Welch). Returns the maximum-likelihood
/// parameters for expected counts. `counts` are the gradients of the sum of hmm_log_likelihood(),
/// in the order start, transition, emission. Rows without any count become uniform.
HmmParameters hmm_m_step(const std::vector<Value>& counts);

/// Returns the most probable state sequence of each row (Viterbi 1967), i64 [batch, time], with
/// zeros after the row's length. Among equally probable sequences, prefers lower state numbers,
/// starting from the end.
Value hmm_best_path(const HmmParameters& p, Arg symbols, const HmmOptions& options = {},
                    SourceLocation loc = SourceLocation::current());

}  // namespace weft
