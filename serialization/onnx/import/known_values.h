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
  /// Returns the elements, in row-major order, of a value with a known number of elements as Dims
  /// if each of them is a number or an expression of sizes: the result of Shape, Gather, Slice,
  /// Concat, Unsqueeze, Cast, Add, Sub, Mul, Div, Min, Max, Where with a known condition, and
  /// reductions of such values. The elements may be integers of any dtype, also of a floating one;
  /// true is 1.
  std::optional<std::vector<Dim>> dims(Value value);
  /// Returns the input, variable or node because of which `value` is not known, for errors: a node
  /// without operands, or with a body. Returns an undefined Value if the value is known.
  Value unknown_leaf(Value value);
  /// Forgets all results, because nodes have been removed from the graph.
  void forget() {
    tensors_.clear();
    dims_.clear();
  }

 private:
  using Results = std::optional<std::vector<Tensor>>;
  Results evaluate(const Node& node);
  std::optional<Tensor> evaluated(Value value);
  std::optional<std::vector<Dim>> derive(const Node& node);

  std::function<Tensor(Value)> leaf_;
  std::uint64_t max_bytes_, left_;
  std::unordered_map<const Node*, Results> tensors_;
  std::unordered_map<const Node*, std::optional<std::vector<Dim>>> dims_;  // of output 0
};

}  // namespace weft::onnx
