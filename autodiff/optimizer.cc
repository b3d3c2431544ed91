#include "weft/autodiff/optimizer.h"

#include <fmt/format.h>

#include <functional>
#include <optional>

#include "weft/autodiff/gradient_advice.h"
#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"

namespace weft {
namespace {

struct Settings {
  Variable parameter;
  double learning_rate_scale;
  double weight_decay;
};

std::vector<Variable> all_parameters(const std::vector<ParameterGroup>& groups) {
  std::vector<Variable> result;
  for (const ParameterGroup& g : groups) {
    result.insert(result.end(), g.parameters.begin(), g.parameters.end());
  }
  return result;
}

// What every optimizer does around its rule: step counter, learning rate, norm, clipping, skipping.
class StepBuilder {
 public:
  StepBuilder(std::string_view name, const std::vector<Value>& gradients,
              const std::vector<ParameterGroup>& groups, double weight_decay, Decay decay,
              const Schedule& lr, const StepOptions& options, SourceLocation loc)
      : name_(name), options_(options), loc_(loc) {
    for (const ParameterGroup& g : groups) {
      for (const Variable& p : g.parameters) {
        const bool shrinks = decay == Decay::everything || p.shape().rank() >= 2;
        settings_.push_back(
            {p, g.learning_rate_scale, g.weight_decay.value_or(shrinks ? weight_decay : 0.0)});
      }
    }
    if (settings_.empty()) throw ArgumentError(fmt::format("{}: there is no parameter", name));
    if (gradients.size() != settings_.size()) {
      throw ArgumentError(fmt::format("{}: {} gradients for {} parameters", name, gradients.size(),
                                      settings_.size()));
    }
    Graph& g = graph();
    for (std::size_t i = 0; i < settings_.size(); ++i) {
      const Variable& p = settings_[i].parameter;
      g.check_owned(p.value(), name, loc);
      g.check_owned(gradients[i], name, loc);
      for (std::size_t k = 0; k < i; ++k) {
        if (settings_[k].parameter == p) {
          throw ArgumentError(fmt::format("{}: parameter '{}' is listed twice", name, p.name()));
        }
      }
    }
    undo_.emplace(g);
    result_.step = state("step", {DType::i64, Shape{}});
    result_.learning_rate = lr(cast(result_.step.value(), DType::f64));
    result_.gradient_norm = global_norm(gradients);
    result_.gradients = gradients;
    if (options.clip_norm > 0) {
      const Value scale = minimum(options.clip_norm / (result_.gradient_norm + 1e-6), 1.0);
      for (Value& v : result_.gradients) v = v * cast(scale, v.dtype());
    }
    if (options.skip_nonfinite) {
      result_.taken = isfinite(result_.gradient_norm);
      if (options.also_finite.defined())
        result_.taken = logical_and(result_.taken, isfinite(options.also_finite));
    }
    // t of the bias corrections: steps that were skipped do not count.
    const Value next = result_.step.value() + 1;
    update(result_.step, next);
    t_ = cast(next, DType::f64);
  }

  Graph& graph() const { return settings_[0].parameter.graph(); }
  const std::vector<Settings>& settings() const { return settings_; }
  Value gradient(std::size_t i) const { return result_.gradients[i]; }
  Value t() const { return t_; }
  // Learning rate of parameter i, f64 scalar.
  Value rate(std::size_t i) const {
    const double scale = settings_[i].learning_rate_scale;
    return scale == 1 ? result_.learning_rate : result_.learning_rate * scale;
  }
  // A zero-initialised optimizer variable.
  Variable state(const std::string& name, const ValueType& type) {
    const std::string full = fmt::format("{}.{}", options_.scope, name);
    if (graph().has_variable(full)) {
      throw GraphError(fmt::format(
          "{}: variable '{}' exists already; a second optimizer of one graph needs a scope "
          "of its own: set StepOptions::scope (options.step.scope), which is '{}'\n  {}",
          name_, full, options_.scope, graph().describe_place(loc_)));
    }
    return graph().variable(full, type, {.kind = VariableKind::optimizer, .trainable = false},
                            loc_);
  }
  Variable moment(std::size_t i, std::string_view name) {
    const Variable& p = settings_[i].parameter;
    return state(fmt::format("{}.{}", p.name(), name), p.value().type());
  }
  void update(Variable variable, Value value) {
    result_.updates.add(
        variable, result_.taken.defined() ? where(result_.taken, value, variable.value()) : value);
  }
  TrainingStep finish() {
    undo_->keep();
    return std::move(result_);
  }

 private:
  std::string name_;
  const StepOptions& options_;
  SourceLocation loc_;
  std::vector<Settings> settings_;
  TrainingStep result_;
  Value t_;
  std::optional<Graph::Undo> undo_;  // what was built, until it is finished
};

Value in_dtype_of(Value scalar, const Value& like) { return cast(scalar, like.dtype()); }

TrainingStep adam_like(std::string_view name, bool decoupled, const std::vector<Value>& gradients,
                       const std::vector<ParameterGroup>& groups, const AdamOptions& o,
                       SourceLocation loc) {
  if (!(o.beta1 >= 0 && o.beta1 < 1 && o.beta2 >= 0 && o.beta2 < 1)) {
    throw ArgumentError(
        fmt::format("{}: beta1 {} and beta2 {} must be in [0, 1)", name, o.beta1, o.beta2));
  }
  StepBuilder b(name, gradients, groups, o.weight_decay, o.decay, o.lr, o.step, loc);
  const Graph::Frame frame(b.graph(), name, loc);
  // Scalars are computed in double: 1 - beta^t loses everything in float when t is small.
  const Value correction1 = 1.0 - pow(b.graph().scalar(DType::f64, o.beta1), b.t());
  const Value correction2 = sqrt(1.0 - pow(b.graph().scalar(DType::f64, o.beta2), b.t()));
  for (std::size_t i = 0; i < b.settings().size(); ++i) {
    const Settings& s = b.settings()[i];
    const Value p = s.parameter.value();
    Value g = b.gradient(i);
    if (!decoupled && s.weight_decay != 0) g = g + p * s.weight_decay;
    const Variable m = b.moment(i, "m"), v = b.moment(i, "v");
    const Value new_m = m.value() * o.beta1 + g * (1 - o.beta1);
    const Value new_v = v.value() * o.beta2 + square(g) * (1 - o.beta2);
    const Value rate = b.rate(i);
    const Value kept =
        decoupled && s.weight_decay != 0 ? p * in_dtype_of(1.0 - rate * s.weight_decay, p) : p;
    const Value denominator = sqrt(new_v) / in_dtype_of(correction2, p) + o.eps;
    const Value new_p = kept - in_dtype_of(rate / correction1, p) * (new_m / denominator);
    b.update(m, new_m);
    b.update(v, new_v);
    b.update(s.parameter, new_p);
  }
  return b.finish();
}

// What to do about `function` (an optimizer) failing to find gradients: it takes no
// GradientOptions.
GradientAdvice advice(std::string_view function, std::string_view on_gradients) {
  return {.function = std::string(function),
          .no_rule = fmt::format("cut the path with stop_gradient, or find the gradients with a "
                                 "rule of your own and hand them to {}",
                                 on_gradients),
          .unreachable = "leave it out of the parameters"};
}

// The gradients of the loss and a step on them; what fails leaves the graph as it was.
template <class Options>
TrainingStep optimize(std::string_view name,
                      TrainingStep (*step)(const std::vector<Value>&,
                                           const std::vector<ParameterGroup>&, const Options&,
                                           SourceLocation),
                      Value loss, const std::vector<ParameterGroup>& groups, const Options& options,
                      SourceLocation loc) {
  std::optional<Graph::Undo> undo;
  if (loss.defined()) undo.emplace(loss.graph());
  std::vector<Value> parameters;
  for (const Variable& p : all_parameters(groups)) parameters.push_back(p.value());
  TrainingStep result =
      step(gradients_for(advice(name, fmt::format("{}_step", name)), loss, parameters, {}, loc),
           groups, options, loc);
  if (undo) undo->keep();
  return result;
}

}  // namespace

Value global_norm(const std::vector<Value>& values) {
  if (values.empty()) throw ArgumentError("global_norm: there is no value");
  Value total;
  for (const Value& v : values) {
    const Value part = cast(sum(square(v)), DType::f64);
    total = total.defined() ? total + part : part;
  }
  return sqrt(total);
}

TrainingStep sgd_step(const std::vector<Value>& gradients,
                      const std::vector<ParameterGroup>& groups, const SgdOptions& o,
                      SourceLocation loc) {
  if (o.nesterov && o.momentum <= 0) {
    throw ArgumentError("sgd: Nesterov momentum needs momentum > 0");
  }
  StepBuilder b("sgd", gradients, groups, o.weight_decay, o.decay, o.lr, o.step, loc);
  const Graph::Frame frame(b.graph(), "sgd", loc);
  for (std::size_t i = 0; i < b.settings().size(); ++i) {
    const Settings& s = b.settings()[i];
    const Value p = s.parameter.value();
    Value g = b.gradient(i);
    if (s.weight_decay != 0) g = g + p * s.weight_decay;
    Value direction = g;
    if (o.momentum > 0) {
      const Variable velocity = b.moment(i, "velocity");
      const Value new_velocity = velocity.value() * o.momentum + g;
      b.update(velocity, new_velocity);
      direction = o.nesterov ? g + new_velocity * o.momentum : new_velocity;
    }
    b.update(s.parameter, p - in_dtype_of(b.rate(i), p) * direction);
  }
  return b.finish();
}

TrainingStep adam_step(const std::vector<Value>& gradients,
                       const std::vector<ParameterGroup>& groups, const AdamOptions& options,
                       SourceLocation loc) {
  return adam_like("adam", false, gradients, groups, options, loc);
}

TrainingStep adamw_step(const std::vector<Value>& gradients,
                        const std::vector<ParameterGroup>& groups, const AdamWOptions& o,
                        SourceLocation loc) {
  return adam_like("adamw", true, gradients, groups,
                   {o.lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.decay, o.step}, loc);
}

TrainingStep sgd(Value loss, const std::vector<ParameterGroup>& groups, const SgdOptions& options,
                 SourceLocation loc) {
  return optimize("sgd", sgd_step, loss, groups, options, loc);
}
TrainingStep sgd(Value loss, const std::vector<Variable>& parameters, const SgdOptions& options,
                 SourceLocation loc) {
  return sgd(loss, {ParameterGroup{parameters}}, options, loc);
}
TrainingStep adam(Value loss, const std::vector<ParameterGroup>& groups, const AdamOptions& options,
                  SourceLocation loc) {
  return optimize("adam", adam_step, loss, groups, options, loc);
}
TrainingStep adam(Value loss, const std::vector<Variable>& parameters, const AdamOptions& options,
                  SourceLocation loc) {
  return adam(loss, {ParameterGroup{parameters}}, options, loc);
}
TrainingStep adamw(Value loss, const std::vector<ParameterGroup>& groups,
                   const AdamWOptions& options, SourceLocation loc) {
  return optimize("adamw", adamw_step, loss, groups, options, loc);
}
TrainingStep adamw(Value loss, const std::vector<Variable>& parameters, const AdamWOptions& options,
                   SourceLocation loc) {
  return adamw(loss, {ParameterGroup{parameters}}, options, loc);
}

Accumulation accumulate_gradients(Value loss, const std::vector<Variable>& parameters,
                                  const std::string& scope, SourceLocation loc) {
  if (parameters.empty()) throw ArgumentError("accumulate_gradients: there is no parameter");
  std::optional<Graph::Undo> undo;
  if (loss.defined()) undo.emplace(loss.graph());
  std::vector<Value> values;
  for (const Variable& p : parameters) values.push_back(p.value());
  const std::vector<Value> grads = gradients_for({.function = "accumulate_gradients",
                                                  .no_rule = "cut the path with stop_gradient",
                                                  .unreachable = "leave it out of the parameters"},
                                                 loss, values, {}, loc);
  Graph& graph = loss.graph();
  const Graph::Frame frame(graph, "accumulate_gradients", loc);
  const auto state = [&](const std::string& name, const ValueType& type) {
    const std::string full = fmt::format("{}.{}", scope, name);
    if (graph.has_variable(full)) {
      throw GraphError(
          fmt::format("accumulate_gradients: variable '{}' exists already; a second accumulation "
                      "of one graph needs a scope of its own, which is '{}'\n  {}",
                      full, scope, graph.describe_place(loc)));
    }
    return graph.variable(full, type, {.kind = VariableKind::optimizer, .trainable = false}, loc);
  };
  Accumulation result;
  const Variable count = state("count", {DType::i64, Shape{}});
  result.accumulate.add(count, count.value() + 1);
  result.clear.add(count, graph.scalar(DType::i64, 0, loc));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Variable sum = state(parameters[i].name(), parameters[i].value().type());
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
