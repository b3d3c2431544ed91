// What all optimizers share: what they step on, for which parameters, and what they build.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "weft/autodiff/gradients.h"
#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// What an optimizer builds: give `updates` to a Program, fetch the rest if you like.
struct TrainingStep {
  Updates updates;
  Value learning_rate;  // f64 scalar of this step
  Value gradient_norm;  // f64 scalar: L2 norm of all gradients before clipping
  /// Per parameter, after clipping; of parameters in StepOptions::sparse the values of their rows.
  std::vector<Value> gradients;
  Variable step;  // i64 scalar: completed steps
  /// Boolean scalar: false where this step is skipped. Undefined without skip_nonfinite.
  Value taken = {};
  operator const Updates&() const { return updates; }  // NOLINT(google-explicit-constructor)
};

/// What an optimizer steps on: a loss, which it differentiates, or gradients that are already
/// there, one per parameter in the order of the groups.
class Loss {
 public:
  Loss(Value loss) : of_(loss) {}  // NOLINT(google-explicit-constructor)
  Loss(std::vector<Value> gradients)
      : of_(std::move(gradients)) {}  // NOLINT(google-explicit-constructor)

  /// The gradients, or null where they are still to be found.
  const std::vector<Value>* gradients() const { return std::get_if<std::vector<Value>>(&of_); }
  /// The loss; undefined where there are gradients.
  Value value() const { return gradients() == nullptr ? std::get<Value>(of_) : Value(); }

 private:
  std::variant<Value, std::vector<Value>> of_;
};

/// Parameters that share settings; what is not set is as in the optimizer's options.
struct ParameterGroup {
  std::vector<Variable> parameters = {};
  double learning_rate_scale = 1;
  std::optional<double> weight_decay = {};
};

/// The parameters of an optimizer: a list of groups, or a list of parameters that are one group.
class ParameterGroups {
 public:
  ParameterGroups(std::vector<ParameterGroup> groups)  // NOLINT(google-explicit-constructor)
      : groups_(std::move(groups)) {}
  ParameterGroups(const std::vector<Variable>& parameters)  // NOLINT(google-explicit-constructor)
      : groups_{{.parameters = parameters}} {}
  // The same for lists written in place: {{.parameters = ...}, ...} and {weight, bias}.
  ParameterGroups(std::initializer_list<ParameterGroup> groups) : groups_(groups) {}
  ParameterGroups(std::initializer_list<Variable> parameters)
      : ParameterGroups(std::vector<Variable>(parameters)) {}

  auto begin() const { return groups_.begin(); }
  auto end() const { return groups_.end(); }

 private:
  std::vector<ParameterGroup> groups_;
};

/// Which parameters weight decay shrinks, where their group does not say.
enum class Decay {
  matrices,  // those with two or more axes: not biases and norm gains (the default for models)
  everything,
};

struct StepOptions {
  /// Gradients are scaled by min(1, clip_norm / (norm + 1e-6)), norm over all parameters; 0 =
  /// never.
  double clip_norm = 0;
  /// A step whose gradient norm is not finite leaves every parameter and moment as it is.
  bool skip_nonfinite = false;
  /// A scalar (the loss, say) that skip_nonfinite looks at, too; may be undefined.
  Value also_finite = {};
  /// Prefix of the names of the variables that the optimizer adds. Empty: "optimizer", and for
  /// further optimizers of a graph "optimizer.2", "optimizer.3" and so on, in the order in which
  /// they are built; a GraphError where another one has the prefix that is given.
  std::string scope = {};
  /// How the loss is differentiated: rules and definitions of one's own, what becomes of parameters
  /// on which it does not depend (with Unreachable::zeros their gradients are 0: decay and moments
  /// still move them), a factor (the cotangent). Not for gradients in place of the loss.
  GradientOptions gradients = {};
  /// Names of matrices of which a step moves the rows that the loss reads, and no others: it costs
  /// what those cost, in time and memory. The loss must read them by embedding() or take() of axis
  /// 0 alone. The rows that one step reads more than once have the sum of their gradients, in the
  /// order of the look-ups. Clipping: the norm is that of these sums, which is the whole
  /// gradient's. Weight decay and moments: of the rows that move; all others stay as they are, bit
  /// for bit, until they are read again. So SGD without momentum and decay, and AdaGrad without
  /// decay, take the steps that they would take anyway; Adam and AdamW take those of "lazy Adam",
  /// whose t counts all steps. Momentum, Adafactor and Lion are refused.
  std::vector<std::string> sparse = {};
};

/// L2 norm over all elements of all values, as an f64 scalar: sums of squares are combined in
/// double. Squares are of the values' dtype: f32 values above 1.8e19 have an infinite norm, by
/// which clipping makes finite gradients 0, and which skip_nonfinite skips.
Value global_norm(const std::vector<Value>& values);

}  // namespace weft
