#include "weft/graph/weights/narrow_caches.h"

namespace weft {
namespace {

/// Returns true if `v` is a cast of a bf16 value to f32.
bool is_widened(const Value& v) {
  return v.defined() && v.node().op().name == "cast" && v.dtype() == DType::f32 &&
         v.node().input(0).dtype() == DType::bf16;
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

Value cast_to(Value value, DType dtype) {
  return value.graph().apply("cast", {value}, {{"dtype", dtype}}, {}).output(0);
}

}  // namespace

std::size_t declare_narrow_caches(Graph& source, Cloner& cloner) {
  Graph& target = cloner.target();
  std::size_t count = 0;
  for (const Variable& variable : source.variables()) {
    const VariableInfo& info = variable.info();
    if (info.kind != VariableKind::cache || info.type.dtype != DType::f32) continue;
    const Variable narrow =
        target.variable(info.name, ValueType{DType::bf16, info.type.shape},
                        {.kind = VariableKind::cache, .initializer = info.initializer}, {});
    target.copy_source_info(variable.value().node(), narrow.value().node());
    cloner.set(variable.value(), cast_to(narrow.value(), DType::f32));
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
  if (!derives_from_cache(operands[0])) return {};
  if (writes) operands[1] = as_stored(inputs[1], DType::bf16);
  const Value narrow = target.apply(op, std::move(operands), node.attributes(), {}).output(0);
  return {cast_to(narrow, DType::f32)};
}

Value as_stored(Value value, DType dtype) {
  if (value.dtype() == dtype) return value;
  if (is_widened(value) && dtype == DType::bf16) return value.node().input(0);
  return cast_to(value, dtype);
}

}  // namespace weft
