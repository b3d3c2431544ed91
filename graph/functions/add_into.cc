#include "weft/graph/functions/add_into.h"

namespace weft {
namespace {

// Returns true if v is a broadcast constant 0.
bool is_zeros(Value v) {
  while (v.node().op().name == "broadcast_to" || v.node().op().name == "reshape") {
    v = v.node().input(0);
  }
  if (v.node().op().name != "constant") return false;
  const Tensor& t = v.node().attributes().tensor("value");
  return t.numel() == 1 && t.at(0) == 0;
}

}  // namespace

bool scatters_into_zeros(const Value& v) {
  const Node& n = v.node();
  if (n.instance() != 0) return false;
  const std::string& op = n.op().name;
  if (op == "unslice")
    return v.dtype() == DType::f32 || v.dtype() == DType::f64 || is_integer(v.dtype());
  return (op == "index_add" || op == "scatter_add" || op == "dynamic_update_slice") &&
         is_zeros(n.inputs()[0]);
}

Value accumulate_into(const Value& sum, const Value& part) {
  Graph& graph = sum.graph();
  const Node& n = part.node();
  const std::string& op = n.op().name;
  const auto apply = [&](std::string_view name, std::vector<Value> inputs, Attributes attributes) {
    return graph.apply(name, std::move(inputs), std::move(attributes), SourceLocation{}).output(0);
  };
  if (op == "unslice") {
    return apply(
        "slice_add", {sum, n.inputs()[0]},
        {{"starts", n.attributes().shape("starts")}, {"steps", n.attributes().integers("steps")}});
  }
  if (op == "dynamic_update_slice") {
    const Value update = n.inputs()[1], start = n.inputs()[2];
    const Value current = apply("dynamic_slice", {sum, start}, {{"sizes", update.shape()}});
    return apply(op, {sum, apply("add", {current, update}, {}), start}, n.attributes());
  }
  return apply(op, {sum, n.inputs()[1], n.inputs()[2]}, n.attributes());
}

Value add_into(const Value& a, const Value& b) {
  if (a.type() == b.type()) {
    if (scatters_into_zeros(b)) return accumulate_into(a, b);
    if (scatters_into_zeros(a)) return accumulate_into(b, a);
  }
  return a.graph().apply("add", {a, b}, {}, {}).output(0);
}

}  // namespace weft
