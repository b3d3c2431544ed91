// The parts of a training step that all optimizers share: gradients, step counter, learning rate,
// clipping and skipped steps. Custom optimizers can use them as well.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/autodiff/gradients.h"
#include "weft/autodiff/optimizers/optimizer_state.h"
#include "weft/autodiff/optimizers/sparse_gradient.h"
#include "weft/autodiff/optimizers/step.h"
#include "weft/autodiff/schedule.h"

namespace WEFT_API weft {

/// Builds one training step: construct a builder, update every parameter and moment, then call
/// finish(). An exception before that leaves the graph unchanged.
///
/// A custom optimizer is a function with an options struct (StepBuilder reads its fields lr,
/// weight_decay, decay and step) and an update rule. For example, Lion (Chen et al. 2023), which
/// has one moment per parameter and changes every element by plus or minus the learning rate:
///
///   struct MyLionOptions {
///     Schedule lr = 1e-4;
///     double beta1 = 0.9, beta2 = 0.99;
///     double weight_decay = 0;
///     Decay decay = Decay::matrices;
///     StepOptions step = {};
///   };
///   TrainingStep my_lion(const Loss& loss, const ParameterGroups& groups,
///                        const MyLionOptions& o = {},
///                        SourceLocation loc = SourceLocation::current()) {
///     StepBuilder b("my_lion", loss, groups, o, loc);
///     for (const StepBuilder::Parameter& p : b.parameters()) {
///       const Value rate = b.rate(p);
///       const Variable m = b.state(p, "m");
///       const Value direction = sign(o.beta1 * m.value() + (1 - o.beta1) * p.gradient);
///       b.update(m, o.beta2 * m.value() + (1 - o.beta2) * p.gradient);
///       b.update(p.variable, p.decayed(rate) - cast(rate, direction.dtype()) * direction);
///     }
///     return b.finish();
///   }
///
/// It then has all features of the built-in optimizers: groups, schedules, clipping, skipped steps,
/// gradients instead of a loss, and named state that is saved and resumed. A custom schedule is a
/// function of the step, an f64 scalar that is 0 in the first step:
///
///   const Schedule rises([](Value step) { return 1e-3 * minimum(step / 100.0, 1.0); });
class StepBuilder {
 public:
  /// A parameter with its gradient and the settings of its group.
  struct Parameter {
    Variable variable;
    Value gradient;  // after clipping; rows only if the parameter is in StepOptions::sparse
    double learning_rate_scale;
    double weight_decay;
    /// The rows that this step updates; empty if it updates the whole parameter.
    std::optional<SparseGradient> rows = {};
    /// Learning rate of the parameter's group, as an f64 scalar; undefined if it is that of the
    /// step.
    Value group_rate = {};

    /// The part of the parameter to which the gradient applies: the whole parameter, or the rows of
    /// this step.
    Value value() const { return read(variable); }
    /// Returns the same part of a state variable of this parameter.
    Value read(const Variable& state) const;
    /// The gradient including the L2 penalty: g + weight_decay * p.
    Value penalised_gradient() const;
    /// Returns p * (1 - rate * weight_decay), i.e. applies weight decay that is decoupled from the
    /// gradient (Loshchilov and Hutter 2019). `rate` is an f64 scalar.
    Value decayed(Value rate) const;
  };

  /// `options` is the options struct of an optimizer; its fields lr, weight_decay, decay and step
  /// are read. Throws ArgumentError if there is no parameter, a number is out of range, a parameter
  /// is listed twice, a schedule is undefined or the number of gradients is wrong; GradientError if
  /// the loss cannot be differentiated; DTypeError or ShapeError if a gradient does not have the
  /// type of its parameter; GraphError if the scope is taken.
  template <class Options>
  StepBuilder(std::string_view name, const Loss& loss, const ParameterGroups& groups,
              const Options& options, SourceLocation loc)
      : StepBuilder(name, loss, groups, options.weight_decay, options.decay, options.lr,
                    options.step, loc) {}

  Graph& graph() const { return parameters_[0].variable.graph(); }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// Number of this step as an f64 scalar, starting at 1. Skipped steps are not counted.
  Value t() const { return t_; }
  /// Learning rate of a parameter as an f64 scalar.
  Value rate(const Parameter& parameter) const;
  /// Adds a state variable for a parameter, which starts at zero. It has the parameter's dtype and,
  /// unless another shape is given, its shape.
  Variable state(const Parameter& parameter, std::string_view name) const;
  Variable state(const Parameter& parameter, std::string_view name, const Shape& shape) const;
  /// Sets the value of a variable after this step. A skipped step leaves the variable unchanged.
  void update(Variable variable, Value value);
  /// As above, for `state`, which is a parameter or a state variable of the same shape: sets it to
  /// `value`, or adds or subtracts `change`. If the parameter has sparse updates, `value` and
  /// `change` contain only the rows of this step, and update() computes old + (value - old).
  void update(const Parameter& parameter, Variable state, Value value);
  void add(const Parameter& parameter, Variable state, Value change);
  void subtract(const Parameter& parameter, Variable state, Value change);
  /// Throws ArgumentError if a parameter has sparse updates. `why` is a clause that states the
  /// reason: "Lion also updates rows without a gradient".
  void require_dense_parameters(std::string_view why) const;
  /// Completes the step. Must be called exactly once.
  TrainingStep finish();

 private:
  StepBuilder(std::string_view name, const Loss& loss, const ParameterGroups& groups,
              double weight_decay, Decay decay, const Schedule& lr, const StepOptions& options,
              SourceLocation loc);
  void list_parameters(const ParameterGroups& groups, double weight_decay, Decay decay);
  Value rate_of(const Schedule& schedule, const std::string& what) const;
  void set_group_rates(const ParameterGroups& groups);
  void list_sparse(const std::vector<std::string>& names);
  std::vector<Value> gradients_of(const Loss& loss, const GradientOptions& options);
  void check_gradients(const std::vector<Value>& gradients) const;
  void add_rows(const Parameter& parameter, Variable state, Value change);

  StateScope scope_;
  std::vector<Parameter> parameters_;
  std::vector<bool> sparse_;  // by parameter: true for sparse updates
  TrainingStep result_;
  Value t_;
  std::optional<Graph::Undo> undo_;  // removes the new nodes unless finish() is called
  std::optional<Graph::Frame> frame_;
};

}  // namespace weft
