#include "weft/graph/weights/narrow_caches.h"

#include "weft/ops/kernels/quantized/int8_rows.h"

namespace weft {
namespace {

/// Returns true if `v` is a conversion of bf16 values or rows of int8 to f32.
bool is_widened(const Value& v) {
  if (!v.defined() || v.dtype() != DType::f32) return false;
  const std::string_view op = v.node().op().name;
  return op == "unpack_int8_rows" || (op == "cast" && v.node().input(0).dtype() == DType::bf16);
}

/// Returns true if the op writes a part of its first operand, which it otherwise copies.
bool writes_part(std::string_view op) {
  return op == "dynamic_update_slice" || op == "tensor_scatter";
}

/// Returns true if `v` is a cache or is derived from a cache by row writes and lookups.
bool derives_from_cache(Value v) {
  while (writes_part(v.node().op().name) || v.node().op().name == "take") v = v.node().input(0);
  return v.node().op().name == "variable" && Variable(v).info().kind == VariableKind::cache;
}

/// Returns true if the op reads or writes the last axis of its first operand as a whole.
bool keeps_last_axis(const Node& node) {
  const int last = node.input(0).rank() - 1;
  if (node.op().name != "take" &&
      node.input(0).shape()[last] != node.input(1).shape()[node.input(1).rank() - 1])
    return false;
  if (node.op().name == "dynamic_update_slice") return true;
  const std::int64_t axis = node.attributes().integer("axis");
  return axis >= 0 && axis < last;
}

Value cast_to(Value value, DType dtype) {
  return value.graph().apply("cast", {value}, {{"dtype", dtype}}, {}).output(0);
}

Value widened(Value value) {
  if (value.dtype() != DType::i8) return cast_to(value, DType::f32);
  return value.graph().apply("unpack_int8_rows", {value}, {}, {}).output(0);
}

}  // namespace

std::size_t declare_narrow_caches(Graph& source, Cloner& cloner, CacheFormat format) {
  if (format == CacheFormat::f32) return 0;
  Graph& target = cloner.target();
  const bool packed = format == CacheFormat::int8;
  std::size_t count = 0;
  for (const Variable& variable : source.variables()) {
    const VariableInfo& info = variable.info();
    if (info.kind != VariableKind::cache || info.type.dtype != DType::f32) continue;
    const Shape& shape = info.type.shape;
    if (packed && shape.rank() == 0) continue;
    std::vector<Dim> dims(shape.begin(), shape.end());
    if (packed) dims.back() = dims.back() + kernels::kRowScaleBytes;
    const Variable narrow = target.variable(
        info.name, ValueType{packed ? DType::i8 : DType::bf16, Shape(std::move(dims))},
        {.kind = VariableKind::cache, .initializer = info.initializer}, {});
    target.copy_source_info(variable.value().node(), narrow.value().node());
    cloner.set(variable.value(), widened(narrow.value()));
    ++count;
  }
  return count;
}

std::vector<Value> keep_caches_narrow(const Node& node, const std::vector<Value>& inputs,
                                      Graph& target) {
  const std::string_view op = node.op().name;
  const bool writes = writes_part(op);
  if (node.instance() != 0 || (!writes && op != "take") || !is_widened(inputs[0])) return {};
  std::vector<Value> operands = inputs;
  operands[0] = inputs[0].node().input(0);
  const DType stored = operands[0].dtype();
  if (!derives_from_cache(operands[0])) return {};
  if (stored == DType::i8 && !keeps_last_axis(node)) return {};
  if (writes) operands[1] = as_stored(inputs[1], stored);
  return {widened(target.apply(op, std::move(operands), node.attributes(), {}).output(0))};
}

Value as_stored(Value value, DType dtype) {
  if (value.dtype() == dtype) return value;
  if (is_widened(value) && value.node().input(0).dtype() == dtype) return value.node().input(0);
  if (dtype != DType::i8) return cast_to(value, dtype);
  return value.graph().apply("pack_int8_rows", {value}, {}, {}).output(0);
}

}  // namespace weft
