#include "weft/models/language/network.h"

#include <fmt/format.h>

#include <utility>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/shape.h"
#include "weft/models/layers/incremental_state.h"

namespace weft {
namespace {

/// Returns variables that keep the state of a network between runs.
std::vector<Variable> state_variables(const Scope& scope, const std::vector<StateSpec>& parts,
                                      VariableKind kind, SourceLocation loc) {
  std::vector<Variable> variables;
  for (const StateSpec& part : parts) {
    variables.push_back(scope.variable(
        part.name, part.type,
        {.kind = kind, .trainable = false, .initializer = Initializer::zeros()}, loc));
  }
  return variables;
}

void add_state_updates(const std::vector<Variable>& variables, const ChunkResult& chunk,
                       Updates* updates) {
  for (std::size_t i = 0; i < variables.size(); ++i) updates->add(variables[i], chunk.state[i]);
}

}  // namespace

LanguageNetwork::LanguageNetwork(Scope scope, std::int64_t vocab)
    : scope_(std::move(scope)), vocab_(vocab) {
  if (vocab_ < 1) {
    throw ArgumentError(
        fmt::format("a language model needs a vocabulary of at least 1, not {}", vocab_));
  }
}

Value StatefulNetwork::operator()(Value tokens, SourceLocation loc) const {
  std::vector<Value> start;
  for (const StateSpec& part : state(tokens.size(0)))
    start.push_back(zeros(scope().graph(), part.type.dtype, part.type.shape, loc));
  return read(tokens, start, loc).logits;
}

Value StatefulNetwork::step(Value tokens, Updates* updates, SourceLocation loc) const {
  require_first_incremental(scope() / "state", "step", loc);
  const std::vector<Variable> caches =
      state_variables(scope() / "state", state(tokens.size(0)), VariableKind::cache, loc);
  const ChunkResult chunk = read(tokens, {caches.begin(), caches.end()}, loc);
  add_state_updates(caches, chunk, updates);
  return select(chunk.logits, 1, tokens.size(1) - 1);
}

Value StatefulNetwork::continue_text(Value tokens, Value fresh, Updates* updates,
                                     SourceLocation loc) const {
  Graph& graph = scope().graph();
  if (!tokens.size(0).is_constant()) {
    graph.fail(ShapeError(fmt::format(
                   "carrying the state over requires a constant batch size, but the batch is {}",
                   tokens.size(0).str())),
               "continue_text", {tokens}, loc);
  }
  const std::vector<Variable> buffers =
      state_variables(scope() / "carried", state(tokens.size(0)), VariableKind::buffer, loc);
  std::vector<Value> start;
  for (const Variable& buffer : buffers)
    start.push_back(stop_gradient(where(fresh, zeros_like(buffer), buffer)));
  const ChunkResult chunk = read(tokens, start, loc);
  add_state_updates(buffers, chunk, updates);
  return chunk.logits;
}

}  // namespace weft
