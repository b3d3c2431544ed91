// Gradient checks: gradients of a program compared with finite differences in double precision.
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
  /// Tensors for the inputs that the output depends on, as for Session::run. Floating-point
  /// tensors are converted to f64.
  std::vector<std::pair<std::string, Tensor>> feeds = {};
  /// Values of variables at which to check the gradients; other variables are initialised from
  /// `seed`.
  std::vector<std::pair<std::string, Tensor>> variables = {};
  /// Seed for initialisers, cotangents, and the choice of elements and directions.
  std::uint64_t seed = 0;
  /// Largest step size of the differences, relative to max(1, |x|). Smaller steps are tried if the
  /// differences do not converge.
  double step = 1e-3;
  /// Maximum number of elements to check per operand: the first, the last, and random ones spread
  /// evenly between them.
  std::int64_t max_elements = 64;
  /// If not 0, checks this number of random directions instead of single elements. All operands
  /// are perturbed together along a direction. Each direction takes about ten runs, independent of
  /// the number of elements; directions are therefore recommended for large models. If a
  /// directional derivative is wrong, each operand is also checked alone to find the faulty one.
  int directions = 0;
  /// Also check the gradients of the gradients.
  bool second_order = false;
  /// Gradient rules and definitions to use; null selects the built-in ones.
  const RuleSet* rules = nullptr;
};

/// The result of a gradient check. Converts to true if the check passed. Printing it shows "passed"
/// or the message.
struct GradientReport {
  bool passed = true;
  /// The first error, or "" if the check passed:
  ///   "first-order gradient of x[3] (2 of 64 elements are wrong): 1.502, but finite differences
  ///   give 1.5 +- 2e-11
  ///     first op with a wrong gradient: tanh, model.cc:12"
  /// The last line names the first op whose gradient is also wrong when the op is checked in
  /// isolation, with the operands that it has in this graph. It is omitted if there is no such op.
  std::string message;
  /// Largest |analytic - numeric| / max(1, largest |numeric| of that operand).
  double max_relative_error = 0;
  /// Location and values of the largest error: "second-order gradient of x[3]: analytic 1.5,
  /// numeric 1.25".
  std::string worst;
  /// Number of elements or directions that were checked.
  std::int64_t elements_checked = 0;

  explicit operator bool() const { return passed; }
  friend std::ostream& operator<<(std::ostream& out, const GradientReport& report) {
    return out << (report.passed ? "passed" : report.message);
  }
};

/// Compares the gradients of `output` (any shape; a fixed random cotangent reduces it to a scalar)
/// with respect to `wrt` (inputs and variables of floating dtype) with finite differences that are
/// computed on a double-precision copy of the program. In the copy, every floating-point dtype is
/// f64: casts to bf16 do not round, and Precision has no effect.
///
/// The check needs no tolerance, because each difference has its own error estimate. A difference
/// is the fourth-order central difference at two step sizes, extrapolated (Richardson). Its error
/// is bounded by the difference between the two results plus the rounding error. Steps shrink until
/// the error is small, so that kinks and jumps near the point do not matter. A gradient is wrong if
/// its distance from the difference exceeds 8 times the error estimate plus 1e-8 times the largest
/// gradient of the operand; the check typically detects errors of 1e-7. If no step size converges
/// (noise, or a jump or kink at the point itself), the check also fails and reports this. The
/// exception is a subgradient at a kink, which passes if single elements are checked. (The
/// complex-step method, which has no rounding errors, would require complex kernels.)
///
/// Throws GradientError if a value of `wrt` is neither an input nor a variable. Errors that
/// gradients() and Session::run() throw are propagated.
GradientReport check_gradients(Value output, const std::vector<Value>& wrt,
                               const GradientCheckOptions& options = {},
                               SourceLocation loc = SourceLocation::current());

}  // namespace weft
