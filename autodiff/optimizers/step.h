// Types that all optimizers share: the loss, parameter groups, step options and the training step
// that an optimizer builds.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "weft/autodiff/gradients.h"
#include "weft/autodiff/schedule.h"
#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// The nodes that an optimizer builds. Pass `updates` to a Program; the other values can be fetched
/// as outputs.
struct TrainingStep {
  Updates updates;
  /// f64 scalar: learning rate of this step, without the scales and own rates of groups.
  Value learning_rate;
  Value gradient_norm;  // f64 scalar: L2 norm of all gradients before clipping
  /// The gradient of each parameter, after clipping. For parameters in StepOptions::sparse,
  /// SparseGradient::values.
  std::vector<Value> gradients;
  Variable step;  // i64 scalar: number of completed steps
  /// Boolean scalar: false if this step is skipped. Undefined without skip_nonfinite.
  Value taken = {};
  operator const Updates&() const { return updates; }  // NOLINT(google-explicit-constructor)
};

/// The objective of an optimizer: a loss, which it differentiates, or precomputed gradients, one
/// per parameter in the order of the groups.
class Loss {
 public:
  Loss(Value loss) : of_(loss) {}  // NOLINT(google-explicit-constructor)
  Loss(std::vector<Value> gradients)
      : of_(std::move(gradients)) {}  // NOLINT(google-explicit-constructor)

  /// The precomputed gradients, or null if this is a loss.
  const std::vector<Value>* gradients() const { return std::get_if<std::vector<Value>>(&of_); }
  /// The loss; undefined if gradients were passed.
  Value value() const { return gradients() == nullptr ? std::get<Value>(of_) : Value(); }

 private:
  std::variant<Value, std::vector<Value>> of_;
};

/// Parameters that share settings. An unset weight_decay or lr is taken from the optimizer's
/// options.
struct ParameterGroup {
  std::vector<Variable> parameters = {};
  /// Factor of the learning rate, which also applies to `lr`.
  double learning_rate_scale = 1;
  std::optional<double> weight_decay = {};
  /// Learning rate of the group: a number, or a schedule of the optimizer's step.
  Schedule lr = {};
};

/// The parameters of an optimizer: a list of groups, or a list of parameters that form one group.
class ParameterGroups {
 public:
  ParameterGroups(std::vector<ParameterGroup> groups)  // NOLINT(google-explicit-constructor)
      : groups_(std::move(groups)) {}
  ParameterGroups(const std::vector<Variable>& parameters)  // NOLINT(google-explicit-constructor)
      : groups_{{.parameters = parameters}} {}
  // Overloads for braced lists: {{.parameters = ...}, ...} and {weight, bias}.
  ParameterGroups(std::initializer_list<ParameterGroup> groups) : groups_(groups) {}
  ParameterGroups(std::initializer_list<Variable> parameters)
      : ParameterGroups(std::vector<Variable>(parameters)) {}

  auto begin() const { return groups_.begin(); }
  auto end() const { return groups_.end(); }

 private:
  std::vector<ParameterGroup> groups_;
};

/// Parameters to which weight decay applies, unless their group sets its own weight decay.
enum class Decay {
  matrices,  // parameters with two or more axes, not biases or norm gains (default)
  everything,
};

struct StepOptions {
  /// Gradients are scaled by min(1, clip_norm / (norm + 1e-6)), where norm is the L2 norm over all
  /// parameters. 0 disables clipping.
  double clip_norm = 0;
  /// Skip steps with a gradient norm that is not finite; all parameters and moments then remain
  /// unchanged.
  bool skip_nonfinite = false;
  /// A scalar (for example, the loss) that skip_nonfinite also requires to be finite. May be
  /// undefined.
  Value also_finite = {};
  /// Name prefix of the variables that the optimizer adds. If empty, the prefix is "optimizer" for
  /// the first optimizer of a graph, then "optimizer.2", "optimizer.3" and so on, in the order in
  /// which they are built. It is a GraphError if another optimizer already uses the prefix.
  std::string scope = {};
  /// Options for differentiating the loss: custom rules and definitions, a factor (the
  /// cotangent), and the treatment of parameters on which the loss does not depend. With
  /// Unreachable::zeros, their gradients are 0; weight decay and moments still change them. Must
  /// not be set if gradients are passed instead of a loss (ArgumentError).
  GradientOptions gradients = {};
  /// Names of matrices with sparse updates: a step updates only the rows that the loss reads. The
  /// cost in time and memory is proportional to the number of these rows. The loss must read these
  /// matrices only by embedding() or take() along axis 0. If a step reads a row several times, its
  /// gradients are summed in the order of the lookups. The norm for clipping is the norm of these
  /// sums, which equals the norm of the whole gradient. Weight decay and moments apply to the
  /// updated rows; all other rows remain bit-identical until they are read again. SGD without
  /// momentum and weight decay, and AdaGrad without weight decay, therefore take the same steps as
  /// without this option. Adam and AdamW become "lazy Adam", whose t counts all steps. Momentum,
  /// Adafactor and Lion do not support sparse updates (ArgumentError).
  std::vector<std::string> sparse = {};
};

/// Returns the L2 norm over all elements of all values, as an f64 scalar. The sums of squares of
/// the values are combined in double, but each square has the dtype of its value: an f32 element
/// above 1.8e19 makes the norm infinite. Clipping with an infinite norm turns finite gradients into
/// 0; skip_nonfinite skips such steps.
Value global_norm(const std::vector<Value>& values);

}  // namespace weft
