// A test problem for optimizers, and scalar models of their updates and state.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/run/session.h"

namespace weft::testing {

/// A parameter of the problem, with the optimizer state of a scalar model.
struct ScalarParameter {
  std::string name;
  Sizes sizes;
  std::vector<double> p;
  std::map<std::string, std::vector<double>> state = {};
  double learning_rate_scale = 1;
  double weight_decay = 0;

  bool is_matrix() const { return sizes.size() >= 2; }
  /// Returns the state named `which`, which is initially zero.
  std::vector<double>& zeros(const std::string& which, std::size_t size) {
    return state.try_emplace(which, size, 0.0).first->second;
  }
};

/// Returns parameters with 0, 1, 2 and 3 axes. tests/fixtures/optimizers/README.md lists the
/// formulas.
std::vector<ScalarParameter> start_of_problem();
/// Returns the targets t of one parameter (by its index in start_of_problem()) at a step.
std::vector<double> targets(std::size_t parameter, int step);
/// Returns the gradient c (p - t).
std::vector<double> gradient_of(const std::vector<ScalarParameter>& all, std::size_t parameter,
                                int step);

/// The problem as a graph.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct Problem {
  explicit Problem(DType dtype);

  DType dtype;
  Graph g;
  std::vector<Variable> parameters;
  /// The loss is multiplied by the input "scale", which is set to infinity in a step that should be
  /// skipped.
  Value loss;
  /// Contains the initial values.
  std::shared_ptr<VariableStore> store = std::make_shared<VariableStore>();

  NamedTensors feeds(int step, double scale = 1) const;
};

/// Updates one parameter in step t (counted from 1) with learning rate `rate`, which includes the
/// scale of the parameter's group.
using ScalarRule = std::function<void(ScalarParameter& parameter, const std::vector<double>& g,
                                      double rate, double t)>;
ScalarRule scalar_sgd(const SgdOptions& options);
ScalarRule scalar_adam(const AdamOptions& options);
ScalarRule scalar_adamw(const AdamWOptions& options);
ScalarRule scalar_adafactor(const AdafactorOptions& options);
ScalarRule scalar_adagrad(const AdagradOptions& options);
ScalarRule scalar_lion(const LionOptions& options);

}  // namespace weft::testing
