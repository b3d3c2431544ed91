// Convolutional language models: causal, dilated (van den Oord et al. 2016), with gated linear
// units (Dauphin et al. 2017).
#pragma once

#include "weft/models/language/network.h"
#include "weft/models/layers/embedding.h"
#include "weft/models/layers/linear.h"
#include "weft/models/layers/norm.h"

namespace WEFT_API weft {

struct ConvolutionOptions {
  std::int64_t width = 128;
  std::int64_t kernel = 3;
  /// One layer each: distance of the places that it sees. With these a place sees 63.
  std::vector<std::int64_t> dilations = {1, 2, 4, 8, 16};

  /// Tokens that a score depends on: 1 + (kernel - 1) * (sum of dilations).
  std::int64_t receptive_field() const;
};

/// h = E[x];  for every layer: [a, g] = W * norm(h) + b, a convolution of `kernel` places;
/// h += a sigmoid(g);  logits = V norm(h) + c. Norms are LayerNorms. What is before the first token
/// counts as zeros. Parameters: "<scope>.embedding.weight" [vocab, width], "<scope>.layers.<i>.norm
/// .{weight, bias}", "<scope>.layers.<i>.convolution.{weight [2 width, kernel * width], bias}",
/// "<scope>.norm.{weight, bias}", "<scope>.head.{weight, bias}". The state is what each layer still
/// sees of the places before.
class ConvolutionNetwork final : public CarryingNetwork {
 public:
  ConvolutionNetwork(const Scope& scope, std::int64_t vocab, const ConvolutionOptions& options);

  std::vector<StatePart> state(const Dim& batch) const override;
  Reading read(Value tokens, const std::vector<Value>& state,
               SourceLocation loc = SourceLocation::current()) const override;

 private:
  struct Layer {
    Norm norm;
    Linear convolution;
  };

  ConvolutionOptions options_;
  Embedding embedding_;
  Norm norm_;
  Linear head_;
  std::vector<Layer> layers_;
};

}  // namespace weft
