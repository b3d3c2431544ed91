#include "weft/serialization/onnx/import/operators/numeric.h"

#include <algorithm>
#include <numeric>

#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/tensors.h"

namespace weft::onnx {

DType dtype_attribute(NodeImport& node, std::string_view name) {
  const std::int64_t value = node.integer(name);
  const auto number = static_cast<std::int32_t>(value);
  const auto dtype = number == value ? dtype_of_number(number) : std::nullopt;
  if (dtype) return *dtype;
  node.unsupported(std::string(name) + " = " + data_type_name(number));
}

DType dtype_attribute(NodeImport& node, std::string_view name, DType otherwise) {
  return node.has_attribute(name) ? dtype_attribute(node, name) : otherwise;
}

std::vector<int> normalised_axes(const NodeImport& node, const std::vector<std::int64_t>& axes,
                                 int rank) {
  std::vector<int> result;
  for (const std::int64_t axis : axes) result.push_back(node.normalised_axis(axis, rank));
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

std::vector<int> axes_between(int first, int end) {
  std::vector<int> axes(static_cast<std::size_t>(std::max(0, end - first)));
  std::iota(axes.begin(), axes.end(), first);
  return axes;
}

Dim number_of_elements(const Shape& shape, const std::vector<int>& axes) {
  Dim count = 1;
  for (const int axis : axes) count *= shape[axis];
  return count;
}

Value from_axis(const NodeImport& node, Value b, std::int64_t axis, int rank) {
  Shape shape = b.shape();
  const int first = node.normalised_axis(axis, rank);
  while (first + shape.rank() < rank) shape.push_back(1);
  return reshape(b, shape);
}

}  // namespace weft::onnx
