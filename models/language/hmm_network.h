// A hidden Markov model as a language model that is learned by gradients.
#pragma once

#include "weft/models/language/hmm.h"
#include "weft/models/language/network.h"

namespace WEFT_API weft {

/// p(x_t+1 | x_1 ... x_t) of a hidden Markov model with `states` states (hmm.h): the forward
/// algorithm with probabilities that are normalised at every step (Rabiner 1989, section V.A), so
/// that a step is a matrix product, and none underflows in a text of any length. Scores are
/// logarithms of probabilities; together they are hmm_log_likelihood.
/// Parameters, whose softmaxes over the last axis are the probabilities: "<scope>.start" [states],
/// "<scope>.transition" [states, states], "<scope>.emission" [states, vocab]. The state is the
/// probability of each hidden one at the next token, and whether there has been a token.
class HmmNetwork final : public CarryingNetwork {
 public:
  HmmNetwork(const Scope& scope, std::int64_t vocab, std::int64_t states);

  std::vector<StatePart> state(const Dim& batch) const override;
  Reading read(Value tokens, const std::vector<Value>& state,
               SourceLocation loc = SourceLocation::current()) const override;

  /// The logarithms of the model's probabilities.
  HmmParameters parameters() const;

 private:
  std::int64_t states_;
  Variable start_, transition_, emission_;
};

}  // namespace weft
