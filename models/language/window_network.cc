#include "weft/models/language/window_network.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/models/language/windows.h"

namespace weft {
namespace {

const WindowNetworkOptions& checked_window(const WindowNetworkOptions& options) {
  if (options.tokens >= 1) return options;
  throw ArgumentError(fmt::format("the window must have at least 1 token, not {}", options.tokens));
}

}  // namespace

WindowNetwork::WindowNetwork(const Scope& scope, std::int64_t vocab,
                             const WindowNetworkOptions& options)
    : StatefulNetwork(scope, vocab),
      options_(checked_window(options)),
      embedding_(make_embedding(
          scope / "embedding",
          {.vocab = vocab, .width = options.embedding, .initializer = Initializer::normal(1)})),
      hidden_(make_linear(scope / "hidden", DType::f32, options.tokens * options.embedding,
                          options.hidden)),
      head_(make_linear(scope / "head", DType::f32, options.hidden, vocab)) {
  if (!options.direct) return;
  direct_ = make_linear(scope / "direct", DType::f32, options.tokens * options.embedding, vocab,
                        {.bias = false});
}

std::vector<StateSpec> WindowNetwork::state(const Dim& batch) const {
  return {{"embeddings",
           {DType::f32, Shape{batch, Dim(options_.tokens - 1), Dim(options_.embedding)}}}};
}

ChunkResult WindowNetwork::read(Value tokens, const std::vector<Value>& state,
                                SourceLocation loc) const {
  const Graph::Frame frame(scope().graph(), "window", loc, scope().path());
  const CausalWindows seen = causal_windows(embedding_(tokens), state[0], options_.tokens);
  Value logits = head_(tanh(hidden_(seen.windows)));
  if (direct_) logits = logits + (*direct_)(seen.windows);
  return {logits, {seen.past}};
}

}  // namespace weft
