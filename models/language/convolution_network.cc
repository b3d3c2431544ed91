#include "weft/models/language/convolution_network.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"
#include "weft/models/language/windows.h"

namespace weft {

namespace {

const ConvolutionOptions& checked_convolution(const ConvolutionOptions& options) {
  if (options.kernel < 1)
    throw ArgumentError(fmt::format("the kernel must be at least 1, but is {}", options.kernel));
  for (std::size_t i = 0; i < options.dilations.size(); ++i) {
    if (options.dilations[i] >= 1) continue;
    throw ArgumentError(fmt::format("the dilation of layer {} is {}; it must be at least 1", i,
                                    options.dilations[i]));
  }
  return options;
}

}  // namespace

ConvolutionNetwork::ConvolutionNetwork(const Scope& scope, std::int64_t vocab,
                                       const ConvolutionOptions& options)
    : StatefulNetwork(scope, vocab),
      options_(checked_convolution(options)),
      embedding_(make_embedding(
          scope / "embedding",
          {.vocab = vocab, .width = options.width, .initializer = Initializer::normal(1)})),
      norm_(make_norm(scope / "norm", DType::f32, options.width)),
      head_(make_linear(scope / "head", DType::f32, options.width, vocab)) {
  for (std::size_t i = 0; i < options.dilations.size(); ++i) {
    const Scope at = scope / "layers" / i;
    layers_.push_back({make_norm(at / "norm", DType::f32, options.width),
                       make_linear(at / "convolution", DType::f32, options.kernel * options.width,
                                   2 * options.width)});
  }
}

std::vector<StateSpec> ConvolutionNetwork::state(const Dim& batch) const {
  std::vector<StateSpec> parts;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Dim positions((options_.kernel - 1) * options_.dilations[i]);
    parts.push_back(
        {fmt::format("layers.{}", i), {DType::f32, Shape{batch, positions, Dim(options_.width)}}});
  }
  return parts;
}

ChunkResult ConvolutionNetwork::read(Value tokens, const std::vector<Value>& state,
                                     SourceLocation loc) const {
  const Graph::Frame frame(scope().graph(), "convolution", loc, scope().path());
  ChunkResult chunk;
  Value h = embedding_(tokens);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const CausalWindows seen =
        causal_windows(layers_[i].norm(h), state[i], options_.kernel, options_.dilations[i]);
    const auto gated = split_equal(layers_[i].convolution(seen.windows), 2, -1);
    h = h + gated[0] * sigmoid(gated[1]);
    chunk.state.push_back(seen.past);
  }
  chunk.logits = head_(norm_(h));
  return chunk;
}

}  // namespace weft
