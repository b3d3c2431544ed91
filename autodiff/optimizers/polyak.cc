#include "weft/autodiff/optimizers/polyak.h"

#include <fmt/format.h>

#include "weft/autodiff/optimizers/after_step.h"
#include "weft/core/error.h"
#include "weft/core/option.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/weights/scope_weights.h"

namespace weft {
namespace {

// Returns the value that `old` has after an update towards `now`.
Value moved(Value old, Value now, VariableKind kind, double tau) {
  if (tau == 1 || kind != VariableKind::parameter || !is_floating(old.dtype())) return now;
  // Unlike (1 - tau) * old + tau * now, this form does not change a target that equals its source.
  return old + (now - old) * tau;
}

}  // namespace

Updates polyak_updates(const Scope& target, const Scope& source, const TrainingStep& step,
                       const PolyakOptions& options, SourceLocation loc) {
  constexpr std::string_view kName = "polyak_updates";
  require_option(kName, "tau", options.tau, Allowed::fraction, loc);
  require_option(kName, "every", static_cast<double>(options.every), Allowed::positive, loc);
  Graph& graph = target.graph();
  graph.check_owned(step.step.value(), kName, loc);
  if (&source.graph() != &graph) {
    throw GraphError(fmt::format("{}: {} and {} belong to different graphs\n  at {}", kName,
                                 scope_text(target), scope_text(source), loc.str()));
  }
  const auto targets = scope_weights(kName, target, loc),
             sources = scope_weights(kName, source, loc);
  require_same_weights(kName, scope_text(source), types_of(sources), scope_text(target),
                       types_of(targets), loc);

  Graph::Undo undo(graph);
  const Graph::Frame frame(graph, kName, loc);
  const AfterStep after(step);
  Value moves;
  if (options.every > 1) {
    const Value t = step.step.value() + 1;  // number of completed steps, including this one
    moves = equal(t - t / options.every * options.every, 0);
  }
  Updates result;
  for (const auto& [name, variable] : targets) {
    if (after.updates(variable)) {
      throw ArgumentError(fmt::format(
          "{}: the step itself updates '{}', a weight of the target: pass the optimizer "
          "only the parameters of the source, and apply layers of the target in "
          "evaluation mode\n  at {}",
          kName, variable.name(), loc.str()));
    }
    const Value old = variable.value(), now = after.value(sources.find(name)->second);
    const Value next = moved(old, now, variable.info().kind, options.tau);
    after.add(result, variable, moves.defined() ? where(moves, next, old) : next);
  }
  undo.keep();
  return result;
}

}  // namespace weft
