// The neural probabilistic language model (Bengio, Ducharme, Vincent and Jauvin 2003).
#pragma once

#include <optional>

#include "weft/models/language/network.h"
#include "weft/models/layers/embedding.h"
#include "weft/models/layers/linear.h"

namespace WEFT_API weft {

struct WindowNetworkOptions {
  std::int64_t tokens = 16;     // size of the window: the paper's n - 1
  std::int64_t embedding = 32;  // width of the embeddings: the paper's m
  std::int64_t hidden = 256;    // hidden units: the paper's h
  /// Adds direct connections (W) from the embeddings to the logits, which bypass the hidden units.
  bool direct = true;
};

/// Equation 1 of the paper: with x the concatenated embeddings of the last `tokens` tokens,
///   logits = b + W x + U tanh(d + H x).
/// Positions before the first token of a text are zeros. Parameters: "<scope>.embedding.weight"
/// [vocab, embedding], "<scope>.hidden.{weight [hidden, tokens * embedding], bias}" (H, d),
/// "<scope>.head.{weight [vocab, hidden], bias}" (U, b), "<scope>.direct.weight" [vocab, tokens *
/// embedding] (W). The state is the embeddings of the last tokens - 1 tokens.
class WindowNetwork final : public StatefulNetwork {
 public:
  WindowNetwork(const Scope& scope, std::int64_t vocab, const WindowNetworkOptions& options);

  std::vector<StateSpec> state(const Dim& batch) const override;
  ChunkResult read(Value tokens, const std::vector<Value>& state,
                   SourceLocation loc = SourceLocation::current()) const override;

 private:
  WindowNetworkOptions options_;
  Embedding embedding_;
  Linear hidden_, head_;
  std::optional<Linear> direct_;
};

}  // namespace weft
