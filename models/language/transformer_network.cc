#include "weft/models/language/transformer_network.h"

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/shape.h"
#include "weft/models/layers/incremental_state.h"

namespace weft {

TransformerNetwork::TransformerNetwork(const Scope& scope, const GptConfig& config)
    : LanguageNetwork(scope, config.vocab), gpt_(scope, config) {}

Value TransformerNetwork::operator()(Value tokens, SourceLocation loc) const {
  return gpt_({.ids = tokens}, loc).logits;
}

Value TransformerNetwork::step(Value tokens, Updates* updates, SourceLocation loc) const {
  require_first_incremental(scope() / "state", "step", loc);
  Graph& graph = scope().graph();
  const Variable position = (scope() / "state")
                                .variable("position", {DType::i64, Shape{}},
                                          {.kind = VariableKind::cache, .trainable = false}, loc);
  GptDecoding decoding = gpt_.decode(tokens, position, loc);
  updates->add(decoding.updates);
  updates->add(position, position + dim_value(graph, tokens.size(1), DType::i64));
  return decoding.logits;
}

}  // namespace weft
