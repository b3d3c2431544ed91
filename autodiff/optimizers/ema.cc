#include "weft/autodiff/optimizers/ema.h"

#include <fmt/format.h>

#include <unordered_set>

#include "weft/autodiff/optimizers/after_step.h"
#include "weft/autodiff/optimizers/optimizer_state.h"
#include "weft/autodiff/optimizers/step_builder.h"
#include "weft/core/error.h"
#include "weft/core/option.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"

namespace weft {
namespace {

constexpr std::string_view kAverage = ".average";

std::string steps_name(std::string_view scope) { return fmt::format("{}.steps", scope); }

using Tensors = std::map<std::string, Tensor, std::less<>>;

// A snapshot of all variables of a store, with their variable kinds.
struct State {
  Tensors values;
  std::map<std::string, VariableKind, std::less<>> kinds;

  explicit State(const VariableStore& store) : values(store.snapshot()) {
    for (const auto& [name, value] : values) kinds[name] = store.kind(name);
  }
};

Tensors averages_in(const State& state, std::string_view scope) {
  const auto steps = state.values.find(steps_name(scope));
  if (steps == state.values.end()) {
    throw StateError(
        fmt::format("there are no weight averages for scope '{}': the store has no variable "
                    "'{}'; add the averages to the training program with Ema",
                    scope, steps_name(scope)));
  }
  const bool begun = steps->second.item<std::int64_t>() > 0;
  Tensors result;
  for (const auto& [name, value] : state.values) {
    if (state.kinds.at(name) != VariableKind::parameter) continue;
    const auto average = state.values.find(fmt::format("{}.{}{}", scope, name, kAverage));
    if (average != state.values.end()) result.emplace(name, begun ? average->second : value);
  }
  return result;
}

}  // namespace

Ema::Ema(const std::vector<Variable>& parameters, const EmaOptions& options, SourceLocation loc)
    : options_(options), parameters_(parameters) {
  require_option("Ema", "decay", options.decay, Allowed::decay, loc);
  if (parameters.empty()) throw ArgumentError("Ema: the parameter list is empty");
  std::unordered_set<Value, ValueHash> seen;
  for (const Variable& p : parameters) {
    if (!p.defined()) throw ArgumentError("Ema: a parameter is undefined");
    parameters[0].graph().check_owned(p.value(), "Ema", loc);
    if (!seen.insert(p.value()).second) {
      throw ArgumentError(fmt::format("Ema: parameter '{}' is listed twice", p.name()));
    }
  }
  Graph& graph = parameters[0].graph();
  Graph::Undo undo(graph);
  options_.scope = unused_scope(graph, options.scope, "ema", "steps");
  const StateScope scope{.function = "Ema",
                         .what = "average",
                         .option = "EmaOptions::scope",
                         .scope = options_.scope,
                         .loc = loc};
  steps_ = scope.variable(graph, "steps", {DType::i64, Shape{}});
  for (const Variable& p : parameters) {
    averages_.push_back(
        scope.variable(graph, fmt::format("{}{}", p.name(), kAverage), p.value().type()));
  }
  undo.keep();
}

Updates Ema::updates(const TrainingStep& step, SourceLocation loc) const {
  Graph& graph = steps_.graph();
  graph.check_owned(step.step.value(), "Ema::updates", loc);
  Graph::Undo undo(graph);
  const Graph::Frame frame(graph, "Ema::updates", loc);
  const AfterStep after(step);
  Updates result;
  const Value steps = steps_.value(), first = equal(steps, 0), t = cast(steps, DType::f64);
  // Compute in double precision: in float, 1 - 0.9999 keeps only four digits.
  Value share = graph.scalar(DType::f64, 1 - options_.decay);
  if (options_.warmup) share = maximum(share, 9.0 / (t + 10.0));
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Value p = parameters_[i].value(), average = averages_[i].value();
    const Value now = after.value(parameters_[i]);
    const Value before = where(first, p, average);
    // Unlike decay * a + (1 - decay) * p, this form leaves an average that equals p unchanged.
    after.add(result, averages_[i], before + (now - before) * cast(share, p.dtype()));
  }
  after.add(result, steps_, steps + 1);
  undo.keep();
  return result;
}

bool has_averages(const VariableStore& store, std::string_view scope) {
  return store.contains(steps_name(scope));
}

Tensors averaged_parameters(const VariableStore& store, std::string_view scope) {
  return averages_in(State(store), scope);
}

std::shared_ptr<VariableStore> averaged_store(const VariableStore& store, std::string_view scope) {
  const State state(store);
  const Tensors averages = averages_in(state, scope);
  auto result = std::make_shared<VariableStore>();
  for (const auto& [name, value] : state.values) {
    const VariableKind kind = state.kinds.at(name);
    if (kind == VariableKind::optimizer || kind == VariableKind::cache) continue;
    const auto average = averages.find(name);
    result->insert(name, kind, average == averages.end() ? value : average->second);
  }
  return result;
}

}  // namespace weft
