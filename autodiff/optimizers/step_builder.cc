#include "weft/autodiff/optimizers/step_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "weft/autodiff/gradient_advice.h"
#include "weft/autodiff/shard_gradients.h"
#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/core/option.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/ir/program.h"

namespace weft {
namespace {

// Error texts for an optimizer that fails to differentiate its loss.
GradientAdvice advice(const std::string& function) {
  return {.function = function,
          .no_rule = fmt::format("block the gradient with stop_gradient, or pass {} a custom rule "
                                 "(StepOptions::gradients.rules)",
                                 function),
          .unreachable =
              "leave it out of the parameters, or request zeros "
              "(StepOptions::gradients.unreachable)"};
}

}  // namespace

Value global_norm(const std::vector<Value>& values) {
  if (values.empty()) throw ArgumentError("global_norm: the list of values is empty");
  Value total;
  for (const Value& v : values) {
    const Value part = cast(sum(square(v)), DType::f64);
    total = total.defined() ? total + part : part;
  }
  return sqrt(total);
}

Value StepBuilder::Parameter::read(const Variable& state) const {
  return rows ? take(state, rows->rows) : state.value();
}

Value StepBuilder::Parameter::penalised_gradient() const {
  return weight_decay != 0 ? gradient + value() * weight_decay : gradient;
}

Value StepBuilder::Parameter::decayed(Value rate) const {
  if (weight_decay == 0) return value();
  return value() * cast(1.0 - rate * weight_decay, value().dtype());
}

StepBuilder::StepBuilder(std::string_view name, const Loss& loss, const ParameterGroups& groups,
                         double weight_decay, Decay decay, const Schedule& lr,
                         const StepOptions& options, SourceLocation loc)
    : scope_{.function = std::string(name),
             .what = "optimizer",
             .option = "StepOptions::scope (options.step.scope)",
             .scope = {},
             .loc = loc} {
  require_option(name, "clip_norm", options.clip_norm, Allowed::not_negative, loc);
  require_option(name, "weight_decay", weight_decay, Allowed::not_negative, loc);
  list_parameters(groups, weight_decay, decay);
  list_sparse(options.sparse);
  undo_.emplace(graph());
  scope_.scope = unused_scope(graph(), options.scope, "optimizer", "step");
  result_.gradients = gradients_of(loss, options.gradients);
  check_gradients(result_.gradients);
  result_.step = scope_.variable(graph(), "step", {DType::i64, Shape{}});
  result_.learning_rate = rate_of(lr, "the learning rate");
  set_group_rates(groups);
  result_.gradient_norm = global_norm(result_.gradients);
  if (options.clip_norm > 0) {
    const Value scale = minimum(options.clip_norm / (result_.gradient_norm + 1e-6), 1.0);
    for (Value& v : result_.gradients) v = v * cast(scale, v.dtype());
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i].gradient = result_.gradients[i];
  }
  if (options.skip_nonfinite) {
    result_.taken = isfinite(result_.gradient_norm);
    if (options.also_finite.defined())
      result_.taken = logical_and(result_.taken, isfinite(options.also_finite));
  }
  const Value next = result_.step.value() + 1;
  update(result_.step, next);
  t_ = cast(next, DType::f64);
  frame_.emplace(graph(), name, loc);
}

void StepBuilder::list_parameters(const ParameterGroups& groups, double weight_decay, Decay decay) {
  const std::string& name = scope_.function;
  std::unordered_set<Value, ValueHash> seen;
  for (int number = 0; const ParameterGroup& g : groups) {
    const auto require = [&](std::string_view option, double value) {
      require_option(name, fmt::format("{} of parameter group {}", option, number), value,
                     Allowed::not_negative, scope_.loc);
    };
    require("learning_rate_scale", g.learning_rate_scale);
    if (g.weight_decay) require("weight_decay", *g.weight_decay);
    ++number;
    for (const Variable& p : g.parameters) {
      if (!p.defined()) throw ArgumentError(fmt::format("{}: a parameter is undefined", name));
      const bool shrinks = decay == Decay::everything || p.shape().rank() >= 2;
      parameters_.push_back({p,
                             {},
                             g.learning_rate_scale,
                             g.weight_decay.value_or(shrinks ? weight_decay : 0.0),
                             {},
                             {}});
      graph().check_owned(p.value(), name, scope_.loc);
      if (!seen.insert(p.value()).second) {
        throw ArgumentError(fmt::format("{}: parameter '{}' is listed twice", name, p.name()));
      }
    }
  }
  if (parameters_.empty()) {
    throw ArgumentError(
        fmt::format("{}: the parameter list is empty\n  at {}", name, scope_.loc.str()));
  }
}

Value StepBuilder::rate_of(const Schedule& schedule, const std::string& what) const {
  const std::string& name = scope_.function;
  if (!schedule.defined()) {
    throw ArgumentError(
        fmt::format("{}: {} is undefined: set it to a number or a schedule\n  at {}", name, what,
                    scope_.loc.str()));
  }
  const Value rate = schedule(cast(result_.step.value(), DType::f64));
  graph().check_owned(rate, name, scope_.loc);
  if (rate.dtype() == DType::f64 && rate.rank() == 0) return rate;
  const std::string text =
      fmt::format("{}: {} is {}, but the function of a schedule must return an f64 scalar\n  at {}",
                  name, what, rate.type().str(), scope_.loc.str());
  if (rate.rank() != 0) throw ShapeError(text);
  throw DTypeError(text);
}

void StepBuilder::set_group_rates(const ParameterGroups& groups) {
  std::size_t i = 0;
  for (int number = 0; const ParameterGroup& g : groups) {
    const std::size_t end = i + g.parameters.size();
    if (g.lr.defined()) {
      const Value rate =
          rate_of(g.lr, fmt::format("the learning rate of parameter group {}", number));
      for (std::size_t k = i; k < end; ++k) parameters_[k].group_rate = rate;
    }
    i = end;
    ++number;
  }
}

void StepBuilder::list_sparse(const std::vector<std::string>& names) {
  const std::string& function = scope_.function;
  sparse_.assign(parameters_.size(), false);
  for (const std::string& name : names) {
    const auto it = std::find_if(parameters_.begin(), parameters_.end(),
                                 [&](const Parameter& p) { return p.variable.name() == name; });
    if (it == parameters_.end()) {
      std::vector<std::string> known;
      for (const Parameter& p : parameters_) known.push_back(p.variable.name());
      throw ArgumentError(
          fmt::format("{}: StepOptions::sparse names '{}', which is not one of the parameters{}",
                      function, name, did_you_mean(name, known)));
    }
    if (it->variable.shape().rank() != 2) {
      throw ArgumentError(
          fmt::format("{}: StepOptions::sparse names '{}', which is not a matrix but {}", function,
                      name, it->variable.value().type().str()));
    }
    sparse_[static_cast<std::size_t>(it - parameters_.begin())] = true;
  }
}

// Computes the gradients of all parameters in one sweep. For sparse parameters, the sweep
// differentiates with respect to the results of their lookups.
std::vector<Value> StepBuilder::gradients_of(const Loss& loss, const GradientOptions& options) {
  const bool any = std::find(sparse_.begin(), sparse_.end(), true) != sparse_.end();
  if (loss.gradients() != nullptr) {
    if (options.cotangent.defined() || options.rules != nullptr ||
        options.unreachable != Unreachable::error) {
      throw ArgumentError(fmt::format(
          "{}: StepOptions::gradients sets how the loss is differentiated, but gradients "
          "were passed instead of a loss: use these options when the gradients are "
          "computed",
          scope_.function));
    }
    if (!any) return *loss.gradients();
    throw ArgumentError(
        fmt::format("{}: StepOptions::sparse requires the loss; gradients that were passed instead "
                    "contain all rows",
                    scope_.function));
  }
  std::vector<Value> values, results_of_lookups;
  std::vector<std::vector<Node*>> reads(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!sparse_[i]) {
      values.push_back(parameters_[i].variable.value());
      continue;
    }
    reads[i] = lookups(scope_.function, loss.value(), parameters_[i].variable, scope_.loc);
    for (Node* node : reads[i]) {
      values.push_back(node->output(0));
      results_of_lookups.push_back(node->output(0));
    }
  }
  // One step updates the rows of all shards together.
  std::vector<Value> sharded_results;
  if (any) sharded_results = values_of_shards(loss.value(), results_of_lookups);
  std::vector<Value> found = gradients_for(advice(scope_.function), loss.value(), values, options,
                                           scope_.loc, sharded_results);
  if (!any) return found;
  std::vector<Value> result;
  auto next = found.begin();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!sparse_[i]) {
      result.push_back(*next++);
      continue;
    }
    const auto end = next + std::ssize(reads[i]);
    parameters_[i].rows = joined_gradient(reads[i], {next, end}, sharded_results, scope_.loc);
    result.push_back(parameters_[i].rows->values);
    next = end;
  }
  return result;
}

void StepBuilder::check_gradients(const std::vector<Value>& gradients) const {
  const std::string& name = scope_.function;
  if (gradients.size() != parameters_.size()) {
    throw ArgumentError(fmt::format("{}: there are {} gradients for {} parameters", name,
                                    gradients.size(), parameters_.size()));
  }
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (parameters_[i].rows) continue;
    const Value gradient = gradients[i], parameter = parameters_[i].value();
    graph().check_owned(gradient, name, scope_.loc);
    const auto text = [&] {
      return fmt::format(
          "{}: gradient {} is {}, but its parameter '{}' is {}: gradients must be in the order of "
          "the groups' parameters\n  {}",
          name, i, gradient.type().str(), parameters_[i].variable.name(), parameter.type().str(),
          graph().describe_source(scope_.loc));
    };
    if (gradient.dtype() != parameter.dtype()) throw DTypeError(text());
    bool same = gradient.rank() == parameter.rank();
    for (int a = 0; same && a < parameter.rank(); ++a) {
      same = graph().facts().equal(gradient.size(a), parameter.size(a));
    }
    if (!same) throw ShapeError(text());
  }
}

Value StepBuilder::rate(const Parameter& parameter) const {
  const double scale = parameter.learning_rate_scale;
  const bool has_own = parameter.group_rate.defined();
  const Value base = has_own ? parameter.group_rate : result_.learning_rate;
  return scale == 1 ? base : base * scale;
}

Variable StepBuilder::state(const Parameter& parameter, std::string_view name) const {
  return state(parameter, name, parameter.variable.shape());
}

Variable StepBuilder::state(const Parameter& parameter, std::string_view name,
                            const Shape& shape) const {
  return scope_.variable(graph(), fmt::format("{}.{}", parameter.variable.name(), name),
                         {parameter.variable.dtype(), shape});
}

void StepBuilder::update(Variable variable, Value value) {
  result_.updates.add(
      variable, result_.taken.defined() ? where(result_.taken, value, variable.value()) : value);
}

// Adds `change` in place to the rows of this step, so that the cost does not depend on other rows.
void StepBuilder::add_rows(const Parameter& parameter, Variable state, Value change) {
  Value moves = unsqueeze(parameter.rows->used, 1);
  if (result_.taken.defined()) moves = logical_and(moves, result_.taken);
  // Padding elements add -0 to row 0, which leaves every value unchanged, even -0.
  result_.updates.add(state, index_add(state, parameter.rows->rows, where(moves, change, -0.0)));
}

void StepBuilder::update(const Parameter& parameter, Variable state, Value value) {
  if (!parameter.rows) return update(state, value);
  add_rows(parameter, state, value - parameter.read(state));
}

void StepBuilder::add(const Parameter& parameter, Variable state, Value change) {
  if (!parameter.rows) return update(state, state.value() + change);
  add_rows(parameter, state, change);
}

void StepBuilder::subtract(const Parameter& parameter, Variable state, Value change) {
  if (!parameter.rows) return update(state, state.value() - change);
  add_rows(parameter, state, -change);
}

void StepBuilder::require_dense_parameters(std::string_view why) const {
  for (const Parameter& p : parameters_) {
    if (!p.rows) continue;
    throw ArgumentError(fmt::format("{}: '{}' is in StepOptions::sparse, but {}", scope_.function,
                                    p.variable.name(), why));
  }
}

TrainingStep StepBuilder::finish() {
  undo_->keep();
  return std::move(result_);
}

}  // namespace weft
