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
  /// Dilation of each layer, i.e. the distance between the positions that it reads.
  std::vector<std::int64_t> dilations = {1, 2, 4, 8, 16};
};

/// A stack of gated convolutions over `kernel` positions with residual connections and LayerNorms:
///   h = E[x]
///   for every layer:  [a, g] = W * norm(h) + b;  h += a sigmoid(g)
///   logits = V norm(h) + c
/// Positions before the first token are zeros. Parameters: "<scope>.embedding.weight" [vocab,
/// width], "<scope>.layers.<i>.norm.{weight, bias}", "<scope>.layers.<i>.convolution.{weight [2
/// width, kernel * width], bias}", "<scope>.norm.{weight, bias}", "<scope>.head.{weight, bias}".
/// The state consists of each layer's inputs at the last positions, as far back as later positions
/// read.
class ConvolutionNetwork final : public StatefulNetwork {
 public:
  ConvolutionNetwork(const Scope& scope, std::int64_t vocab, const ConvolutionOptions& options);

  std::vector<StateSpec> state(const Dim& batch) const override;
  ChunkResult read(Value tokens, const std::vector<Value>& state,
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
