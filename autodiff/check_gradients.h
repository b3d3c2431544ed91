// Gradient checks: the program's own gradients against finite differences, in double.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "weft/autodiff/gradients.h"
#include "weft/core/tensor.h"

namespace weft {

struct GradientCheckOptions {
  /// Tensors for the inputs that the value depends on, as for Session::run; f32 ones are converted.
  std::vector<std::pair<std::string, Tensor>> feeds = {};
  /// Values of variables to check at; those not given are initialised from `seed`.
  std::vector<std::pair<std::string, Tensor>> variables = {};
  std::uint64_t seed = 0;
  /// Step of the fourth-order central difference, relative to max(1, |x|).
  double step = 1e-3;
  /// At most this many elements of each operand are checked (spread evenly).
  std::int64_t max_elements = 64;
  /// Also check the gradients of the gradients.
  bool second_order = false;
  const RuleSet* rules = nullptr;
  const DecompositionSet* decompositions = nullptr;
};

struct GradientReport {
  /// Largest |analytic - numeric| / max(1, largest |numeric| of that operand).
  double max_relative_error = 0;
  /// Where it occurs: "second-order gradient of x[3]: analytic 1.5, numeric 1.25".
  std::string worst;
  std::int64_t elements_checked = 0;
};

/// Compares gradients of `output` (any shape; a fixed random cotangent makes it a scalar) with
/// respect to `wrt` (inputs and variables of floating dtype) with finite differences of the
/// program's double twin.
GradientReport check_gradients(Value output, const std::vector<Value>& wrt,
                               const GradientCheckOptions& options = {},
                               SourceLocation loc = SourceLocation::current());

}  // namespace weft
