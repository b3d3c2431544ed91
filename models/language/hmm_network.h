// A hidden Markov model as a language model that is trained by gradient descent.
#pragma once

#include "weft/models/language/hmm.h"
#include "weft/models/language/network.h"

namespace WEFT_API weft {

/// Computes p(x_t+1 | x_1 ... x_t) of a hidden Markov model with `states` states (hmm.h). The
/// forward algorithm normalises the probabilities at every step (Rabiner 1989, section V.A), so
/// that a step is a matrix product and no probability underflows in texts of any length. Logits are
/// log probabilities, consistent with hmm_log_likelihood(). Parameters: "<scope>.start" [states],
/// "<scope>.transition" [states, states] and "<scope>.emission" [states, vocab]; the probabilities
/// are their softmaxes over the last axis. The state is the probability of each hidden state at the
/// next token, and a flag that is set after the first token.
class HmmNetwork final : public StatefulNetwork {
 public:
  HmmNetwork(const Scope& scope, std::int64_t vocab, std::int64_t states);

  std::vector<StateSpec> state(const Dim& batch) const override;
  ChunkResult read(Value tokens, const std::vector<Value>& state,
                   SourceLocation loc = SourceLocation::current()) const override;

  /// The log probabilities of the model.
  HmmParameters parameters() const;

 private:
  std::int64_t states_;
  Variable start_, transition_, emission_;
};

}  // namespace weft
