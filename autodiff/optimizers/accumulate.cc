#include "weft/autodiff/optimizers/accumulate.h"

#include <optional>

#include "weft/autodiff/gradient_advice.h"
#include "weft/autodiff/optimizers/state.h"
#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"

namespace weft {

Accumulation accumulate_gradients(Value loss, const std::vector<Variable>& parameters,
                                  const AccumulateOptions& options, SourceLocation loc) {
  if (parameters.empty()) throw ArgumentError("accumulate_gradients: there is no parameter");
  std::optional<Graph::Undo> undo;
  if (loss.defined()) undo.emplace(loss.graph());
  std::vector<Value> values;
  for (const Variable& p : parameters) values.push_back(p.value());
  const std::vector<Value> grads =
      gradients_for({.function = "accumulate_gradients",
                     .no_rule = "cut the path with stop_gradient, or give a rule of your own "
                                "(AccumulateOptions::gradients.rules)",
                     .unreachable = "leave it out of the parameters, or ask for zeros "
                                    "(AccumulateOptions::gradients.unreachable)"},
                    loss, values, options.gradients, loc);
  Graph& graph = loss.graph();
  const Graph::Frame frame(graph, "accumulate_gradients", loc);
  const StateScope state{.function = "accumulate_gradients",
                         .what = "accumulation",
                         .option = "AccumulateOptions::scope",
                         .scope = free_scope(graph, options.scope, "accumulated", "count"),
                         .loc = loc};
  Accumulation result;
  const Variable count = state.variable(graph, "count", {DType::i64, Shape{}});
  result.accumulate.add(count, count.value() + 1);
  result.clear.add(count, graph.scalar(DType::i64, 0, loc));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Variable sum = state.variable(graph, parameters[i].name(), parameters[i].value().type());
    result.accumulate.add(sum, sum.value() + grads[i]);
    result.clear.add(sum, graph
                              .apply("broadcast_to", {graph.scalar(sum.dtype(), 0, loc)},
                                     {{"shape", sum.shape()}}, loc)
                              .output(0));
    result.gradients.push_back(sum.value() / cast(count.value(), sum.dtype()));
  }
  undo->keep();
  return result;
}

}  // namespace weft
