// L-BFGS: minimisation of a deterministic function of the parameters (full batch).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "weft/autodiff/gradients.h"
#include "weft/graph/engine/results.h"
#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

class Session;

struct LbfgsOptions {
  /// Number of recent iterations from which the curvature is estimated.
  std::int64_t history = 10;
  std::int64_t max_iterations = 1000;
  /// Maximum number of evaluations of the loss and its gradient.
  std::int64_t max_evaluations = 10'000;
  /// Maximum number of evaluations in one line search.
  std::int64_t max_line_search = 25;
  /// Ends if no element of the gradient has a larger absolute value. Losses in f32 rarely reach
  /// less than about 1e-4; use f64 parameters for higher accuracy.
  double gradient_tolerance = 1e-6;
  /// Ends if an iteration decreases the loss by at most change_tolerance * max(|old|, |new|).
  double change_tolerance = 1e-9;
  /// Constants of the strong Wolfe conditions, 0 < c1 < c2 < 1: sufficient decrease and curvature.
  double c1 = 1e-4;
  double c2 = 0.9;
  /// Options for differentiating the loss: custom rules, or zero gradients for parameters on which
  /// the loss does not depend. The cotangent must not be set (ArgumentError).
  GradientOptions gradients = {};
};

/// Why a minimisation ended.
enum class LbfgsStatus : std::uint8_t {
  running,             // it has not ended
  gradient_converged,  // LbfgsOptions::gradient_tolerance is reached
  loss_converged,      // LbfgsOptions::change_tolerance is reached
  max_iterations,
  max_evaluations,
  /// No point with a smaller loss was found along the direction of steepest descent. The remaining
  /// decrease is usually below the rounding errors of the loss. Otherwise the loss is not smooth,
  /// or a custom gradient is wrong.
  line_search_failed,
};

/// The state of a minimisation.
struct LbfgsResult {
  LbfgsStatus status = LbfgsStatus::running;
  std::int64_t iterations = 0;
  std::int64_t evaluations = 0;  // of the loss and its gradient
  double loss = 0;               // at the current parameters
  double gradient_norm = 0;      // largest absolute value of an element of the gradient

  /// Returns true if a tolerance was reached.
  bool converged() const {
    return status == LbfgsStatus::gradient_converged || status == LbfgsStatus::loss_converged;
  }
  /// Returns a summary: "the gradient converged after 12 iterations and 15 evaluations: loss
  /// 3.2e-09, largest gradient element 4.1e-07".
  std::string str() const;
};

/// Minimises a loss with L-BFGS (Liu and Nocedal 1989; Nocedal and Wright 2006, algorithm 7.4) and
/// a line search for the strong Wolfe conditions. Suitable for small and medium problems if one
/// evaluation can process all data: physics-informed networks, logistic regression, calibration. It
/// converges much faster than Adam there, but it does not tolerate noise. The caller drives it:
///
///   Lbfgs lbfgs(session, loss, net.parameters(), {{"x", x}, {"y", y}});
///   while (lbfgs.step()) std::printf("%g\n", lbfgs.result().loss);
///   std::printf("%s\n", lbfgs.result().str().c_str());
///
/// or calls minimize(), which is the same loop. The parameters are variables of the Session, f32 or
/// f64; other variables, such as frozen parameters, do not change. No step increases the loss, and
/// after an exception the parameters are those before the step. During a step they have trial
/// values, which other Sessions over the same store can see. All vectors are in double, and results
/// do not depend on the number of threads. Memory: 2 * history + 6 numbers in double for each
/// element of the parameters.
///
/// If the parameters are changed by other code between two steps, the next step begins there,
/// without the history.
class Lbfgs {
 public:
  /// Adds the gradient of `loss`, a scalar, to the graph of the Session, which must outlive this
  /// object. `feeds` are the inputs of all evaluations. Throws
  /// - ArgumentError if the list of parameters is empty or has duplicates, an option is out of
  ///   range, or the loss is not the same function in every evaluation because it draws random
  ///   numbers or updates variables (names the key or variable: layers in training mode),
  /// - DTypeError for a parameter that is neither f32 nor f64,
  /// - GradientError if the loss cannot be differentiated,
  /// - GraphError if the loss or a parameter belongs to another graph.
  /// The graph is then unchanged.
  Lbfgs(Session& session, Value loss, const std::vector<Variable>& parameters,
        NamedTensors feeds = {}, const LbfgsOptions& options = {},
        SourceLocation loc = SourceLocation::current());
  /// As above, for the output "loss" of a program, or its only output. The evaluations have the
  /// precision and the shards of the program (gradient accumulation); its other outputs are not
  /// computed. Throws ArgumentError if there is no such output, or if the program has updates.
  Lbfgs(Session& session, const Program& objective, const std::vector<Variable>& parameters,
        NamedTensors feeds = {}, const LbfgsOptions& options = {},
        SourceLocation loc = SourceLocation::current());

  /// Performs one iteration: computes a direction, searches along it, and sets the parameters.
  /// Returns false, without changing the parameters, if the minimisation has ended. The first call
  /// evaluates the initial parameters; throws DataError if their loss or gradient is not finite.
  /// Also throws the errors of Session::run(); the parameters are then those before the step.
  bool step();

  /// Returns the state after the last step.
  const LbfgsResult& result() const { return result_; }

  /// Returns everything that is needed to continue bit-exactly: parameters, gradient, history and
  /// counters, as tensors that write_safetensors() can save.
  std::map<std::string, Tensor, std::less<>> state();
  /// Continues from a state of a minimisation of the same loss with the same parameters and feeds;
  /// also sets the parameters of the Session. Options may differ. Throws ArgumentError if a tensor
  /// is missing or has the wrong type; nothing is changed in this case.
  void load_state(const std::map<std::string, Tensor, std::less<>>& state);

 private:
  /// A pair of differences between two iterations.
  struct Pair {
    std::vector<double> step, change;  // of the parameters and of the gradient
    double curvature = 0;              // inner product of both
  };

  void begin();
  void update_status(bool loss_converged);
  std::vector<double> direction() const;
  /// Sets the parameters to x, which is rounded to their dtypes.
  void set_parameters(std::vector<double>& x);
  /// Evaluates the loss and the gradient at the current parameters.
  double evaluate(std::vector<double>& gradient);
  bool were_changed() const;
  void remember_versions();

  Session* session_;
  std::vector<Variable> parameters_;
  NamedTensors feeds_;
  LbfgsOptions options_;
  SourceLocation loc_;
  Program program_{"lbfgs"};
  LbfgsResult result_;
  std::vector<double> x_, gradient_;
  std::deque<Pair> history_;             // oldest first
  std::vector<std::uint64_t> versions_;  // of the parameters; empty before the first evaluation
};

/// Minimises a loss with L-BFGS until it converges or a limit is reached; see Lbfgs for arguments
/// and errors. LbfgsResult::status is the reason for the end.
///
///   const LbfgsResult result = minimize(session, loss, net.parameters(), {{"x", x}, {"y", y}},
///                                       {.max_iterations = 200, .gradient_tolerance = 1e-6});
LbfgsResult minimize(Session& session, Value loss, const std::vector<Variable>& parameters,
                     const NamedTensors& feeds = {}, const LbfgsOptions& options = {},
                     SourceLocation loc = SourceLocation::current());
LbfgsResult minimize(Session& session, const Program& objective,
                     const std::vector<Variable>& parameters, const NamedTensors& feeds = {},
                     const LbfgsOptions& options = {},
                     SourceLocation loc = SourceLocation::current());

}  // namespace weft
