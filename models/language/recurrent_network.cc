#include "weft/models/language/recurrent_network.h"

namespace weft {

namespace {

RecurrentNetworkOptions with_defaults(RecurrentNetworkOptions options) {
  if (options.embedding == 0) options.embedding = options.hidden;
  return options;
}

}  // namespace

RecurrentNetwork::RecurrentNetwork(const Scope& scope, std::int64_t vocab,
                                   const RecurrentNetworkOptions& options)
    : StatefulNetwork(scope, vocab),
      options_(with_defaults(options)),
      embedding_(make_embedding(
          scope / "embedding",
          {.vocab = vocab, .width = options_.embedding, .initializer = Initializer::normal(1)})),
      layers_(make_recurrent(scope / "layers", options.kind, DType::f32, Dim(options_.embedding),
                             options.hidden, {.layers = options.layers})),
      head_(make_linear(scope / "head", DType::f32, options.hidden, vocab)) {}

std::vector<StateSpec> RecurrentNetwork::state(const Dim& batch) const {
  const ValueType type{DType::f32, Shape{Dim(options_.layers), batch, Dim(options_.hidden)}};
  std::vector<StateSpec> parts = {{"h", type}};
  if (options_.kind == Recurrence::lstm) parts.push_back({"c", type});
  return parts;
}

ChunkResult RecurrentNetwork::read(Value tokens, const std::vector<Value>& state,
                                   SourceLocation loc) const {
  const Graph::Frame frame(scope().graph(), "recurrent", loc, scope().path());
  RecurrentOptions from{.layers = options_.layers, .h0 = state[0]};
  const bool cells = options_.kind == Recurrence::lstm;
  if (cells) from.c0 = state[1];
  const RecurrentResult result =
      apply_recurrent(options_.kind, embedding_(tokens), layers_, from, loc);
  ChunkResult chunk{head_(result.output), {result.h}};
  if (cells) chunk.state.push_back(result.c);
  return chunk;
}

}  // namespace weft
