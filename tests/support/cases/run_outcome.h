// The outcome of running an op (tensors or an error) and comparisons of outcomes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/tensor.h"

namespace weft::testing {

struct RunOutcome {
  std::vector<Tensor> results;
  std::string error_kind;  // "ShapeError"; empty if there are results
  std::string message;
  bool failed() const { return !error_kind.empty(); }
  std::string str() const;
  /// Throws the caught error again.
  [[noreturn]] void rethrow() const;
  /// Returns a copy whose error message contains only the core: the first line, without the op.
  RunOutcome core() const;
};

/// Runs `body` and catches weft::Error. Other exceptions propagate.
RunOutcome outcome_of(const std::function<std::vector<Tensor>()>& body);

enum class Bits {
  same,           // equal in every byte
  same_but_nans,  // the sign and payload of NaNs may differ
};

/// Returns a description of the difference, or "". If `expected` is an error, `actual` must be an
/// error of the same type, with a message that contains the expected one.
std::string difference(const RunOutcome& actual, const RunOutcome& expected, Bits bits);

/// Describes the first element that differs, or returns "".
std::string difference(const Tensor& actual, const Tensor& expected, Bits bits);

}  // namespace weft::testing
