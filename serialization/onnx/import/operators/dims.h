// Helpers of translators for sizes that may be symbolic.
#pragma once

#include <algorithm>
#include <vector>

#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/node_import.h"

namespace weft::onnx {

/// Requires that two sizes are equal unless this is known already. The graph checks the equation
/// when the sizes are known. Different constants are left to the operation that uses them.
inline void require_equal(NodeImport& n, const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return;
  if (!n.graph().facts().equal(a, b)) n.graph().require(a == b);
}

/// Requires that sizes that broadcast against each other are equal, as far as this is not known:
/// a symbol never counts as 1, also if the file gives the batches of two inputs different names.
/// The last `except` axes do not broadcast.
inline void require_broadcast(NodeImport& n, const std::vector<Value>& xs, int except = 0) {
  for (const Value& a : xs) {
    for (const Value& b : xs) {
      for (int axis = 1 + except; axis <= std::min(a.rank(), b.rank()); ++axis) {
        if (a.size(-axis) != Dim(1) && b.size(-axis) != Dim(1))
          require_equal(n, a.size(-axis), b.size(-axis));
      }
    }
  }
}

/// Reshapes x. If the numbers of elements are not provably equal, they are required to be.
inline Value reshaped(NodeImport& n, Value x, const Shape& shape) {
  require_equal(n, x.shape().numel(), shape.numel());
  return reshape(x, shape);
}

/// Returns x with axis `axis` replaced by axes of the given sizes.
inline Value split_axis(NodeImport& n, Value x, int axis, std::initializer_list<Dim> sizes) {
  std::vector<Dim> dims = x.shape().dims();
  dims.erase(dims.begin() + axis);
  dims.insert(dims.begin() + axis, sizes);
  return reshaped(n, x, Shape(std::move(dims)));
}

/// Returns a value with these sizes as elements.
inline Value value_of_sizes(Graph& graph, const std::vector<Dim>& sizes, const ValueType& type) {
  std::vector<Value> elements;
  for (const Dim& size : sizes) elements.push_back(dim_value(graph, size, type.dtype));
  return reshape(stack(elements), type.shape);
}

/// Returns sizes[first..last) multiplied.
inline Dim size_product(const Shape& shape, int first, int last) {
  Dim product = 1;
  for (int axis = first; axis < last; ++axis) product *= shape[axis];
  return product;
}

}  // namespace weft::onnx
