// What every optimizer does around its rule: gradients, step counter, learning rate, clipping,
// skipping. For optimizers of your own, too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/autodiff/gradients.h"
#include "weft/autodiff/optimizers/sparse_gradient.h"
#include "weft/autodiff/optimizers/state.h"
#include "weft/autodiff/optimizers/step.h"
#include "weft/autodiff/schedule.h"

namespace WEFT_API weft {

/// Builds one training step: make it, give every parameter and every moment its update, finish().
/// What throws before that leaves the graph as it was.
///
/// An optimizer of your own is a function with options (lr, weight_decay, decay and step are read)
/// and a rule. Lion (Chen et al. 2023), which has one moment per parameter and moves every element
/// by the learning rate, up or down:
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
/// It then has what every optimizer has: groups, schedules, clipping, steps that are skipped,
/// gradients in place of the loss, state with names that is saved and resumed. A schedule of your
/// own is a function of the step, an f64 scalar that is 0 in the first one:
///
///   const Schedule rises([](Value step) { return 1e-3 * minimum(step / 100.0, 1.0); });
class StepBuilder {
 public:
  /// A parameter with its gradient and the settings of its group.
  struct Parameter {
    Variable variable;
    Value gradient;  // after clipping; of its rows where it is in StepOptions::sparse
    double learning_rate_scale;
    double weight_decay;
    /// The rows that this step moves; none: all of it.
    std::optional<SparseGradient> rows = {};

    /// What the gradient is of: the parameter, or its rows.
    Value value() const { return of(variable); }
    /// The same of its state.
    Value of(const Variable& state) const;
    /// The gradient with the L2 penalty's: g + weight_decay * p.
    Value penalised_gradient() const;
    /// p * (1 - rate * weight_decay): decay that is decoupled from the gradient (Loshchilov and
    /// Hutter 2019). `rate` is an f64 scalar.
    Value decayed(Value rate) const;
  };

  /// `options` is an optimizer's: lr, weight_decay, decay and step are read. Throws ArgumentError
  /// (no parameter, or one that is listed twice; another number of gradients), GradientError,
  /// DTypeError and ShapeError (a gradient that does not fit its parameter), GraphError where the
  /// scope is taken.
  template <class Options>
  StepBuilder(std::string_view name, const Loss& loss, const ParameterGroups& groups,
              const Options& options, SourceLocation loc)
      : StepBuilder(name, loss, groups, options.weight_decay, options.decay, options.lr,
                    options.step, loc) {}

  Graph& graph() const { return parameters_[0].variable.graph(); }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  /// Number of this step, from 1: an f64 scalar. Steps that were skipped do not count.
  Value t() const { return t_; }
  /// Learning rate of a parameter: an f64 scalar.
  Value rate(const Parameter& parameter) const;
  /// State of a parameter: a new variable that starts at zero, of the parameter's type or with
  /// another shape.
  Variable state(const Parameter& parameter, std::string_view name) const;
  Variable state(const Parameter& parameter, std::string_view name, const Shape& shape) const;
  /// What becomes of a variable in this step, unless it is skipped.
  void update(Variable variable, Value value);
  /// The same of a parameter or its state, of which `value` and `change` have the rows alone where
  /// only those move. Rows end at old + (new - old).
  void update(const Parameter& parameter, Variable state, Value value);
  void add(const Parameter& parameter, Variable state, Value change);
  void subtract(const Parameter& parameter, Variable state, Value change);
  /// Throws ArgumentError if there is a parameter of which only rows move: this optimizer `why`.
  void need_whole_parameters(std::string_view why) const;
  /// Ends the step. To be called once.
  TrainingStep finish();

 private:
  StepBuilder(std::string_view name, const Loss& loss, const ParameterGroups& groups,
              double weight_decay, Decay decay, const Schedule& lr, const StepOptions& options,
              SourceLocation loc);
  void list_parameters(const ParameterGroups& groups, double weight_decay, Decay decay);
  void list_sparse(const std::vector<std::string>& names);
  std::vector<Value> gradients_of(const Loss& loss, const GradientOptions& options);
  void check_gradients(const std::vector<Value>& gradients) const;
  void add_rows(const Parameter& parameter, Variable state, Value change);

  StateScope scope_;
  std::vector<Parameter> parameters_;
  std::vector<bool> sparse_;  // of the parameters
  TrainingStep result_;
  Value t_;
  std::optional<Graph::Undo> undo_;  // what was built, until it is finished
  std::optional<Graph::Frame> frame_;
};

/// Throws ArgumentError unless 0 <= value < 1: the decay rate `rate` of a moving average.
void check_decay_rate(std::string_view function, std::string_view rate, double value);

}  // namespace weft
