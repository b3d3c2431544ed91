// Recurrent language models (Mikolov et al. 2010; with LSTM: Sundermeyer et al. 2012).
#pragma once

#include "weft/models/language/network.h"
#include "weft/models/layers/embedding.h"
#include "weft/models/layers/linear.h"
#include "weft/models/layers/recurrent.h"

namespace WEFT_API weft {

struct RecurrentNetworkOptions {
  Recurrence kind = Recurrence::lstm;
  std::int64_t hidden = 256;   // units per layer
  std::int64_t embedding = 0;  // width of the token embeddings; 0 = hidden
  int layers = 1;
};

/// Embeddings, recurrent layers (layers/recurrent.h) and a linear head. Parameters:
/// "<scope>.embedding.weight" [vocab, embedding], "<scope>.layers.weight_ih_l0" and so on with
/// PyTorch's names, "<scope>.head.{weight [vocab, hidden], bias [vocab]}". The state is the hidden
/// state of all layers and, for an LSTM, their cell state.
class RecurrentNetwork final : public StatefulNetwork {
 public:
  RecurrentNetwork(const Scope& scope, std::int64_t vocab, const RecurrentNetworkOptions& options);

  std::vector<StateSpec> state(const Dim& batch) const override;
  ChunkResult read(Value tokens, const std::vector<Value>& state,
                   SourceLocation loc = SourceLocation::current()) const override;

 private:
  RecurrentNetworkOptions options_;
  Embedding embedding_;
  std::vector<RecurrentWeights> layers_;
  Linear head_;
};

}  // namespace weft
