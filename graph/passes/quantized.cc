// Products with weights in fewer bits read those bits, not floats made of them:
//   matmul(x, dequantize(q, scale))       -> quantized_matmul(x, q, scale)
//   take(dequantize(q, scale), index)     -> quantized_take(q, scale, index)
//   take(cast(w), index)                  -> cast(take(w, index)), where the cast widens
// The first sums in another order than matmul, so that the last bits may differ; the others keep
// every bit.
#include "weft/graph/passes/pipeline.h"

namespace weft {
namespace {

bool is(const Value& v, std::string_view op) { return v.defined() && v.node().op().name == op; }

Value multiply_quantized(const Node& node, const std::vector<Value>& inputs, Graph& target) {
  const Value x = inputs[0], w = inputs[1];
  if (!is(w, "dequantize") || x.dtype() != w.dtype()) return {};
  const Attributes& matrix = w.node().attributes();
  if (node.attributes().flag("transpose_a") ||
      node.attributes().flag("transpose_b") != matrix.flag("transposed")) {
    return {};
  }
  return target
      .apply("quantized_matmul", {x, w.node().input(0), w.node().input(1)},
             {{"outputs", matrix.integer("outputs")}}, {})
      .output(0);
}

Value take_quantized(const Value& w, const Value& index, Graph& target) {
  const Attributes& matrix = w.node().attributes();
  if (!matrix.flag("transposed")) return {};
  return target
      .apply("quantized_take", {w.node().input(0), w.node().input(1), index},
             {{"inputs", matrix.integer("inputs")},
              {"outputs", matrix.integer("outputs")},
              {"dtype", matrix.dtype("dtype")}},
             {})
      .output(0);
}

Value take_narrow(const Node& node, const Value& w, const Value& index, Graph& target) {
  const Value narrow = w.node().input(0);
  if (dtype_size(narrow.dtype()) >= dtype_size(w.dtype())) return {};
  const Value rows = target.apply("take", {narrow, index}, node.attributes(), {}).output(0);
  return target.apply("cast", {rows}, w.node().attributes(), {}).output(0);
}

Value rewrite(const Node& node, const std::vector<Value>& inputs, Graph& target) {
  if (node.instance() != 0) return {};
  if (node.op().name == "matmul") return multiply_quantized(node, inputs, target);
  if (node.op().name == "take") {
    const bool rows = node.attributes().integer("axis") == 0;
    if (rows && is(inputs[0], "dequantize")) return take_quantized(inputs[0], inputs[1], target);
    if (is(inputs[0], "cast")) return take_narrow(node, inputs[0], inputs[1], target);
  }
  return {};
}

}  // namespace

Module fold_quantized(Module module, const PassOptions&) {
  CloneOptions options;
  options.rewrite = [](const Node& node, const std::vector<Value>& inputs, Graph& target) {
    const Value value = rewrite(node, inputs, target);
    return value.defined() ? std::vector<Value>{value} : std::vector<Value>();
  };
  return clone_program(module.program, options);
}

}  // namespace weft
