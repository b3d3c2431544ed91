// Gradient checks: the program's own gradients against differences, in double.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "weft/autodiff/gradients.h"
#include "weft/core/tensor.h"

namespace WEFT_API weft {

struct GradientCheckOptions {
  /// Tensors for the inputs that the value depends on, as for Session::run; f32 ones are converted.
  std::vector<std::pair<std::string, Tensor>> feeds = {};
  /// Values of variables to check at; those not given are initialised from `seed`.
  std::vector<std::pair<std::string, Tensor>> variables = {};
  /// Of initialisers, cotangents, elements and directions.
  std::uint64_t seed = 0;
  /// The largest step of the differences, relative to max(1, |x|). Smaller ones are tried where
  /// these do not converge.
  double step = 1e-3;
  /// At most this many elements of each operand are checked: the first, the last, and others drawn
  /// evenly between them.
  std::int64_t max_elements = 64;
  /// When not 0: not element by element, but so many random directions in which all operands move
  /// at once. Some ten runs each, whatever the size, for large models. Where one is wrong, each
  /// operand is looked at alone, to name it.
  int directions = 0;
  /// Also check the gradients of the gradients.
  bool second_order = false;
  const RuleSet* rules = nullptr;
  const DecompositionSet* decompositions = nullptr;
};

/// What a check found: true where all is well; prints its message otherwise.
struct GradientReport {
  bool passed = true;
  /// What is wrong first, "" if nothing:
  ///   "first-order gradient of x[3] (2 of 64 elements are wrong): 1.502, but differences give 1.5
  ///   +- 2e-11
  ///     it is that of tanh, model.cc:12"
  /// The last line names the first op whose gradient is wrong when the op stands alone with the
  /// operands that it has there, if one is.
  std::string message;
  /// Largest |analytic - numeric| / max(1, largest |numeric| of that operand).
  double max_relative_error = 0;
  /// Where it occurs: "second-order gradient of x[3]: analytic 1.5, numeric 1.25".
  std::string worst;
  /// Elements, or directions.
  std::int64_t elements_checked = 0;

  explicit operator bool() const { return passed; }
  friend std::ostream& operator<<(std::ostream& out, const GradientReport& report) {
    return out << (report.passed ? "passed" : report.message);
  }
};

/// Compares gradients of `output` (any shape; a fixed random cotangent makes it a scalar) with
/// respect to `wrt` (inputs and variables of floating dtype) with differences of the program's
/// double twin.
///
/// Nobody has to give a tolerance: each difference comes with its own error. It is the fourth-order
/// central difference at two step sizes, extrapolated (Richardson); what the two differ by, and
/// what rounding may do, bounds the error. Steps shrink until it is small, so that kinks and jumps
/// beside the point do not matter. A gradient is wrong if it is further away than that error and
/// 1e-8 of the operand's largest; typically errors of 1e-7 are found. Where no step converges (a
/// kink or jump at the very point, noise) the check fails, too, and says so. (The complex step,
/// which has no rounding errors, would need complex kernels.)
///
/// Throws GradientError for a value that cannot be varied, and what gradients() and Session::run
/// throw.
GradientReport check_gradients(Value output, const std::vector<Value>& wrt,
                               const GradientCheckOptions& options = {},
                               SourceLocation loc = SourceLocation::current());

}  // namespace weft
