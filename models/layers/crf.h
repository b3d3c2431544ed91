// The parameters of a linear-chain conditional random field.
#pragma once

#include "weft/graph/functions/sequence/crf.h"
#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

/// Declares the scores of a CRF over `tags` tags for emissions of type `dtype` (f32 or f64):
/// "<scope>.transitions" [tags, tags], "<scope>.start_transitions" [tags] and
/// "<scope>.end_transitions" [tags], initialised uniformly in +-0.1. Names and layouts match
/// `pytorch-crf` and AllenNLP. Throws ArgumentError if tags is below 1.
///   CrfTransitions crf = make_crf(net / "crf", DType::f32, 9);
///   const Value loss = -mean(crf_log_likelihood(emissions, tags, crf, lengths));
///   const Value best = crf_viterbi(emissions, crf, lengths).tags;
/// To forbid transitions, mask the scores:
///   crf.transitions = masked_fill(crf.transitions, forbidden, -infinity);
CrfTransitions make_crf(const Scope& scope, DType dtype, std::int64_t tags,
                        SourceLocation loc = SourceLocation::current());

}  // namespace weft
