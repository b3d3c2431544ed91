// The averaging language model, the simplest model that uses the whole context.
#pragma once

#include "weft/models/language/network.h"
#include "weft/models/layers/embedding.h"
#include "weft/models/layers/linear.h"

namespace WEFT_API weft {

/// Logits are linear in the mean embedding of the context, so token order is irrelevant:
///   logits_t = W mean(E[x_1], ..., E[x_t]) + b.
/// This is attention with equal weights and without queries and keys. Parameters:
/// "<scope>.embedding.weight" [vocab, width], "<scope>.head.{weight [vocab, width], bias [vocab]}".
/// The state is the sum of the embeddings so far and their number.
class AveragingNetwork final : public StatefulNetwork {
 public:
  AveragingNetwork(const Scope& scope, std::int64_t vocab, std::int64_t width);

  std::vector<StateSpec> state(const Dim& batch) const override;
  ChunkResult read(Value tokens, const std::vector<Value>& state,
                   SourceLocation loc = SourceLocation::current()) const override;

 private:
  std::int64_t width_;
  Embedding embedding_;
  Linear head_;
};

}  // namespace weft
