#include "weft/models/language/averaging.h"

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"

namespace weft {

AveragingNetwork::AveragingNetwork(const Scope& scope, std::int64_t vocab, std::int64_t width)
    : StatefulNetwork(scope, vocab),
      width_(width),
      embedding_(
          make_embedding(scope / "embedding",
                         {.vocab = vocab, .width = width, .initializer = Initializer::normal(1)})),
      head_(make_linear(scope / "head", DType::f32, width, vocab)) {}

std::vector<StateSpec> AveragingNetwork::state(const Dim& batch) const {
  return {{"sum", {DType::f32, Shape{batch, Dim(width_)}}}, {"count", {DType::f32, Shape{}}}};
}

ChunkResult AveragingNetwork::read(Value tokens, const std::vector<Value>& state,
                                   SourceLocation loc) const {
  Graph& graph = scope().graph();
  const Graph::Frame frame(graph, "averaging", loc, scope().path());
  const Value sums = cumsum(embedding_(tokens), 1) + unsqueeze(state[0], 1);
  const Dim& time = tokens.size(1);
  const Value counts = iota(graph, Shape{time, Dim(1)}, 0, DType::f32) + 1 + state[1];
  return {head_(sums / counts),
          {select(sums, 1, time - 1), state[1] + dim_value(graph, time, DType::f32)}};
}

}  // namespace weft
