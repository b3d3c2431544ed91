// The averaging language model: the simplest one that sees all that came before.
#pragma once

#include "weft/models/language/network.h"
#include "weft/models/layers/embedding.h"
#include "weft/models/layers/linear.h"

namespace WEFT_API weft {

/// Scores that are linear in the mean embedding of the context, whose order is lost:
///   logits_t = W mean(E[x_1], ..., E[x_t]) + b.
/// It is attention with equal weights, without queries and keys. Parameters:
/// "<scope>.embedding.weight" [vocab, width], "<scope>.head.{weight [vocab, width], bias [vocab]}".
/// The state is the sum so far and how many tokens it is of.
class AveragingNetwork final : public CarryingNetwork {
 public:
  AveragingNetwork(const Scope& scope, std::int64_t vocab, std::int64_t width);

  std::vector<StatePart> state(const Dim& batch) const override;
  Reading read(Value tokens, const std::vector<Value>& state,
               SourceLocation loc = SourceLocation::current()) const override;

 private:
  std::int64_t width_;
  Embedding embedding_;
  Linear head_;
};

}  // namespace weft
