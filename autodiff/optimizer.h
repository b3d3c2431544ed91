// Optimizers as graph builders: the whole training step is one program, and all its state is
// variables.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/autodiff/schedule.h"
#include "weft/graph/ir/program.h"

namespace weft {

/// What an optimizer builds: give `updates` to a Program, fetch the rest if you like.
struct TrainingStep {
  Updates updates;
  Value learning_rate;           // f64 scalar of this step
  Value gradient_norm;           // f64 scalar: L2 norm of all gradients before clipping
  std::vector<Value> gradients;  // per parameter, after clipping
  Variable step;                 // i64 scalar: completed steps
  /// Boolean scalar: false where this step is skipped. Undefined without skip_nonfinite.
  Value taken = {};
  operator const Updates&() const { return updates; }  // NOLINT(google-explicit-constructor)
};

/// Parameters that share settings; what is not set is as in the optimizer's options.
struct ParameterGroup {
  std::vector<Variable> parameters;
  double learning_rate_scale = 1;
  std::optional<double> weight_decay = {};
};

/// Which parameters weight decay shrinks, where their group does not say.
enum class Decay {
  matrices,  // those with two or more axes: not biases and norm gains (the default for models)
  everything,
};

/// What all optimizers share.
struct StepOptions {
  /// Gradients are scaled by min(1, clip_norm / (norm + 1e-6)), norm over all parameters; 0 =
  /// never.
  double clip_norm = 0;
  /// A step whose gradient norm is not finite leaves every parameter and moment as it is.
  bool skip_nonfinite = false;
  /// A scalar (the loss, say) that skip_nonfinite looks at, too; may be undefined.
  Value also_finite = {};
  /// Prefix of the names of the variables that the optimizer adds: every optimizer of a graph needs
  /// another one.
  std::string scope = "optimizer";
};

struct SgdOptions {
  Schedule lr = 0.01;
  double momentum = 0;
  bool nesterov = false;
  double weight_decay = 0;  // L2: added to the gradient
  Decay decay = Decay::matrices;
  StepOptions step = {};
};

struct AdamOptions {
  Schedule lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0;  // L2: added to the gradient
  Decay decay = Decay::matrices;
  StepOptions step = {};
};

struct AdamWOptions {
  Schedule lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;  // of the parameter itself, times the learning rate
  Decay decay = Decay::matrices;
  StepOptions step = {};
};

// An optimizer that throws (GradientError, ArgumentError, GraphError where its scope is taken)
// leaves the graph as it was.

/// Stochastic gradient descent: v = momentum * v + g; p -= lr * v, or with Nesterov
/// p -= lr * (g + momentum * v) (Sutskever et al. 2013, as PyTorch has it).
TrainingStep sgd(Value loss, const std::vector<ParameterGroup>& groups,
                 const SgdOptions& options = {}, SourceLocation loc = SourceLocation::current());
TrainingStep sgd(Value loss, const std::vector<Variable>& parameters,
                 const SgdOptions& options = {}, SourceLocation loc = SourceLocation::current());

/// Adam (Kingma and Ba 2015): weight decay is L2, added to the gradient.
TrainingStep adam(Value loss, const std::vector<ParameterGroup>& groups,
                  const AdamOptions& options = {}, SourceLocation loc = SourceLocation::current());
TrainingStep adam(Value loss, const std::vector<Variable>& parameters,
                  const AdamOptions& options = {}, SourceLocation loc = SourceLocation::current());

/// AdamW (Loshchilov and Hutter 2019): p *= 1 - lr*wd; m = b1*m + (1-b1)*g; v = b2*v + (1-b2)*g*g;
/// p -= lr / (1-b1^t) * m / (sqrt(v) / sqrt(1-b2^t) + eps), t from 1.
TrainingStep adamw(Value loss, const std::vector<ParameterGroup>& groups,
                   const AdamWOptions& options = {},
                   SourceLocation loc = SourceLocation::current());
TrainingStep adamw(Value loss, const std::vector<Variable>& parameters,
                   const AdamWOptions& options = {},
                   SourceLocation loc = SourceLocation::current());

/// Gradient accumulation: run `accumulate` for each micro-batch, then a program with `apply`, which
/// steps on the mean of the accumulated gradients and clears them.
struct Accumulation {
  Updates accumulate;
  /// Mean gradients over the micro-batches so far, one per parameter: give them to an optimizer.
  std::vector<Value> gradients;
  /// Sets accumulators and counter to zero: add it to the program that steps.
  Updates clear;
};
Accumulation accumulate_gradients(Value loss, const std::vector<Variable>& parameters,
                                  const std::string& scope = "accumulated",
                                  SourceLocation loc = SourceLocation::current());

/// The optimizers on gradients that are already there (one per parameter, in the order of the
/// groups).
TrainingStep sgd_step(const std::vector<Value>& gradients,
                      const std::vector<ParameterGroup>& groups, const SgdOptions& options = {},
                      SourceLocation loc = SourceLocation::current());
TrainingStep adam_step(const std::vector<Value>& gradients,
                       const std::vector<ParameterGroup>& groups, const AdamOptions& options = {},
                       SourceLocation loc = SourceLocation::current());
TrainingStep adamw_step(const std::vector<Value>& gradients,
                        const std::vector<ParameterGroup>& groups, const AdamWOptions& options = {},
                        SourceLocation loc = SourceLocation::current());

/// L2 norm over all elements of all values, as an f64 scalar: sums of squares are combined in
/// double.
Value global_norm(const std::vector<Value>& values);

}  // namespace weft
