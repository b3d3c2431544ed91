// Linear-chain conditional random fields (J. Lafferty, A. McCallum and F. Pereira, "Conditional
// random fields: probabilistic models for segmenting and labeling sequence data", 2001).
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

/// The scores of a linear-chain CRF over `tags` tags, f32 or f64. -inf forbids a transition, or a
/// tag at the start or the end. The layer crf() declares them as parameters.
struct CrfTransitions {
  Value transitions;       // [tags, tags]: the score of tag j after tag i, at [i, j]
  OptionalArg start = {};  // [tags]: the score of the first tag; 0 if absent
  OptionalArg end = {};    // [tags]: the score of the last tag; 0 if absent
};

// In the functions below, `emissions` is f32 or f64 [batch, time, tags]: the score of each tag at
// each step, for example the output of a linear layer. -inf forbids a tag at a step. `lengths`, i32
// or i64 [batch], contains the number of valid steps of each row; if absent, all steps are valid.
// Emissions and tags after the length of a row may have any values. Sums over paths are computed in
// double precision in log space, so that long inputs lose no accuracy. The cost is O(batch * time *
// tags^2); gradients keep 8 bytes per row, step and tag, and the sums are computed again. Operands
// of other types throw ShapeError or DTypeError; a length or tag out of range throws DataError at
// run time, which names row and position.

/// Logarithm of the probability of each row's `tags` (i32 or i64 [batch, time]), [batch]:
/// score(tags)
/// - ln(sum over all paths of exp(score(path))). The score of a path is the sum of its emissions,
/// transitions, start and end score. The negative mean is the usual loss:
///   const Value loss = -mean(crf_log_likelihood(emissions, tags, crf, lengths));
/// A forbidden path has log-likelihood -inf with gradient 0. A row of length 0 has 0. Gradients of
/// any order are available.
Value crf_log_likelihood(Arg emissions, Arg tags, const CrfTransitions& crf,
                         OptionalArg lengths = {});

/// Probability of each tag at each step given the emissions, [batch, time, tags], computed by the
/// forward-backward algorithm; 0 after the length of a row, and in rows in which all paths are
/// forbidden. Gradients of any order are available.
Value crf_marginals(Arg emissions, const CrfTransitions& crf, OptionalArg lengths = {});

/// The result of crf_viterbi().
struct CrfPath {
  Value tags;   // i64 [batch, time]; 0 after the length of a row
  Value score;  // [batch]: the score of the path, without normalisation; 0 for length 0
};
/// The path with the highest score (A. Viterbi 1967). Among paths with equal scores, it has the
/// smallest last tag, then the smallest tag before it, and so on. If all paths are forbidden, the
/// score is -inf and the tags are arbitrary. The gradient of the score is the gradient of the score
/// of the path.
CrfPath crf_viterbi(Arg emissions, const CrfTransitions& crf, OptionalArg lengths = {});

}  // namespace weft
