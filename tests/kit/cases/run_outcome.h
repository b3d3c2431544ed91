// What running an op gives: tensors or an error; and whether two ways give the same.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/tensor.h"

namespace weft::testing {

struct RunOutcome {
  std::vector<Tensor> results;
  std::string error_kind;  // "ShapeError"; empty where there are results
  std::string message;
  bool failed() const { return !error_kind.empty(); }
  std::string str() const;
  /// Throws the error again.
  [[noreturn]] void rethrow() const;
  /// The same with only the core of the message: the first line, without the op in front.
  RunOutcome core() const;
};

/// Runs `body`, catching weft::Error. Other exceptions pass.
RunOutcome outcome_of(const std::function<std::vector<Tensor>()>& body);

enum class Bits {
  same,           // byte for byte
  same_but_nans,  // sign and payload of NaNs may differ
};

/// What is different, "" if nothing. An error of `actual` must be of the kind of the expected one
/// and its message must contain that one's.
std::string difference(const RunOutcome& actual, const RunOutcome& expected, Bits bits);

/// The first element that differs, "" if none.
std::string difference(const Tensor& actual, const Tensor& expected, Bits bits);

}  // namespace weft::testing
