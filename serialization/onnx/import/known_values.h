// Values that are known when a file is read: constants, and sizes that are functions of the sizes
// of inputs. Operators that determine shapes (Reshape, Slice, Expand, Range) need them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/graph/ir/graph.h"

namespace weft::onnx {

/// Analyses the nodes of a Weft graph on demand, so that translators of shape computations build
/// ordinary nodes. Results are stored, so that every node is evaluated once.
class KnownValues {
 public:
  /// `leaf` returns the tensor of an input or variable whose value is known, or an undefined
  /// Tensor. `max_bytes` bounds all results together.
  KnownValues(std::function<Tensor(Value)> leaf, std::uint64_t max_bytes);

  /// Returns the value if it depends on constants, sizes that are numbers, and known leaves only.
  /// Throws FormatError if the results exceed `max_bytes`.
  std::optional<Tensor> tensor(Value value);
  /// Returns the elements, in row-major order, of an integer value with a known number of elements
  /// as Dims if each of them is a number or an expression of sizes: the result of Shape, Gather,
  /// Slice, Concat, Unsqueeze, Cast, Add, Sub, Mul, Div (floor_div), Min, Max, Where with a known
  /// condition, and reductions of such values.
  std::optional<std::vector<Dim>> dims(Value value);
  /// Returns an input or variable without a known value on which `value` depends, for errors; or
  /// an undefined Value.
  Value unknown_leaf(Value value);

 private:
  std::function<Tensor(Value)> leaf_;
  std::uint64_t left_;
  std::unordered_map<Value, std::optional<Tensor>, ValueHash> tensors_;
  std::unordered_map<Value, std::optional<std::vector<Dim>>, ValueHash> dims_;
};

}  // namespace weft::onnx
