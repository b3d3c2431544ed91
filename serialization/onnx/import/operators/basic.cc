// Constants, shapes as values, and operators that do nothing in inference.
#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/graph_import.h"
#include "weft/serialization/onnx/import/operators.h"

namespace weft::onnx {
namespace {

std::vector<ImportedValue> identity(NodeImport& n) { return {n.any_input(0)}; }

Tensor constant_value(NodeImport& n) {
  if (const auto value = n.tensor("value")) return *value;
  if (const auto value = n.tensor("sparse_value")) return *value;
  if (n.has_attribute("value_int")) return Tensor::of<std::int64_t>({}, {n.integer("value_int")});
  if (n.has_attribute("value_float")) return Tensor::scalar(DType::f32, n.real("value_float"));
  if (const auto values = n.integers("value_ints"))
    return Tensor::of({static_cast<std::int64_t>(values->size())}, *values);
  if (const auto values = n.reals("value_floats")) {
    return Tensor::of<double>({static_cast<std::int64_t>(values->size())}, *values).to(DType::f32);
  }
  if (n.has_attribute("value_string") || n.has_attribute("value_strings"))
    n.unsupported("a string");
  throw FormatError("attribute 'value' is missing");
}

std::vector<ImportedValue> constant(NodeImport& n) {
  return {n.graph().constant(constant_value(n))};
}

std::vector<ImportedValue> dropout(NodeImport& n) {
  for (const char* name : {"ratio", "seed", "is_test", "consumed_inputs"}) n.skip_attribute(name);
  if (n.has(1)) n.skip_input(1);
  if (n.has(2)) {
    const Tensor training = n.known_input(2);
    const bool keeps_all = n.has(1) && n.known_real(1) == 0;
    if (training.numel() == 1 && training.at(0) != 0 && !keeps_all) n.unsupported("training_mode");
  }
  const Value x = n.input(0);
  if (!n.wants(1)) return {x};
  const DType mask = n.opset() < 10 ? x.dtype() : DType::boolean;
  return {x, ones(n.graph(), mask, x.shape())};
}

std::vector<ImportedValue> shape(NodeImport& n) {
  const Shape& shape = n.input(0).shape();
  const auto clamp = [&](std::int64_t axis) {
    return std::clamp<std::int64_t>(axis < 0 ? axis + shape.rank() : axis, 0, shape.rank());
  };
  const std::int64_t begin = clamp(n.integer("start", 0));
  const std::int64_t end = clamp(n.integer("end", shape.rank()));
  std::vector<Dim> dims;
  for (std::int64_t axis = begin; axis < end; ++axis) dims.push_back(shape[static_cast<int>(axis)]);
  if (Shape(dims).is_constant()) {
    return {n.graph().constant(
        Tensor::of({static_cast<std::int64_t>(dims.size())}, Shape(dims).constant()))};
  }
  std::vector<Value> sizes;
  for (const Dim& dim : dims) sizes.push_back(dim_value(n.graph(), dim));
  return {stack(sizes)};
}

std::vector<ImportedValue> size(NodeImport& n) {
  return {dim_value(n.graph(), n.input(0).shape().numel())};
}

constexpr Operator kBasic[] = {{"Identity", 1, identity},
                               {"Constant", 1, constant},
                               {"Dropout", 1, dropout},
                               {"Shape", 1, shape},
                               {"Size", 1, size}};

}  // namespace

std::span<const Operator> basic_operators() { return kBasic; }

}  // namespace weft::onnx
