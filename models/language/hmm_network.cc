#include "weft/models/language/hmm_network.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/norm.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

// Lower bound of probabilities that avoids 0 / 0 and log 0, in case no possible state can emit a
// token within the range of float.
constexpr double kMinProbability = 1e-37;

}  // namespace

HmmNetwork::HmmNetwork(const Scope& scope, std::int64_t vocab, std::int64_t states)
    : StatefulNetwork(scope, vocab), states_(states) {
  if (states < 1)
    throw ArgumentError(
        fmt::format("a hidden Markov model needs at least 1 state, not {}", states));
  const VariableOptions start{.initializer = Initializer::normal(1)};
  start_ = scope.variable("start", DType::f32, {states}, start);
  transition_ = scope.variable("transition", DType::f32, {states, states}, start);
  emission_ = scope.variable("emission", DType::f32, {states, vocab}, start);
}

HmmParameters HmmNetwork::parameters() const {
  return {log_softmax(start_), log_softmax(transition_), log_softmax(emission_)};
}

std::vector<StateSpec> HmmNetwork::state(const Dim& batch) const {
  return {{"next", {DType::f32, Shape{batch, Dim(states_)}}}, {"begun", {DType::f32, Shape{}}}};
}

ChunkResult HmmNetwork::read(Value tokens, const std::vector<Value>& state,
                             SourceLocation loc) const {
  Graph& graph = scope().graph();
  const Graph::Frame frame(graph, "hmm", loc, scope().path());
  const Value emission = softmax(emission_);                           // [states, vocab]
  const Value emitted = take(transpose(emission), transpose(tokens));  // [time, batch, states]
  const Value first =
      where(state[1] > 0, state[0], broadcast_to(softmax(start_), state[0].shape()));
  const ScanResult forward = scan(
      graph, {first}, {emitted}, {softmax(transition_)},
      [](Graph&, const ScanElements& in) {
        const Value joint = in.carries[0] * in.elements[0];
        const Value here = joint / maximum(sum(joint, {1}, true), kMinProbability);
        const Value next = matmul(here, in.operands[0]);
        return ScanStep{{next}, {next}};
      },
      {.name = "hmm.filter"}, loc);
  const Value predicted = permute(forward.outputs[0], {1, 0, 2});  // [batch, time, states]
  return {log(maximum(matmul(predicted, emission), kMinProbability)),
          {forward.carries[0], ones_like(state[1])}};
}

}  // namespace weft
