// index_add(zeros, i, s) + y becomes index_add(y, i, s): where a table is also used otherwise (an
// embedding tied to the output layer), its gradients end in one buffer, instead of a second one of
// the table's size that is filled with zeros, added to and added up.
#include <unordered_map>

#include "weft/graph/passes/pipeline.h"

namespace weft {
namespace {

bool is_zeros(Value v) {
  while (v.defined() && (v.node().op().name == "broadcast_to" || v.node().op().name == "reshape")) {
    v = v.node().input(0);
  }
  if (!v.defined() || v.node().op().name != "constant") return false;
  const Tensor& t = v.node().attributes().tensor("value");
  return t.numel() == 1 && t.at(0) == 0;
}

bool adds_to_zeros(const Value& v) {
  return v.node().op().name == "index_add" && v.node().instance() == 0 &&
         is_zeros(v.node().input(0));
}

}  // namespace

Module accumulate(Module module, const PassOptions&) {
  std::unordered_map<Value, int, ValueHash> readers;
  for (const Node* n : module.program.nodes()) {
    for (const Value& v : n->inputs()) {
      if (v.defined()) ++readers[v];
    }
  }
  for (const auto& [name, value] : module.program.outputs()) ++readers[value];
  for (const auto& [variable, value] : module.program.updates()) ++readers[value];

  // The operand of each sum that is an index_add of nobody else.
  std::unordered_map<const Node*, std::size_t> sums;
  for (const Node* n : module.program.nodes()) {
    if (n->op().name != "add" || n->instance() != 0) continue;
    for (std::size_t i = 0; i < 2; ++i) {
      const Value part = n->input(i), other = n->input(1 - i);
      if (part == other || !adds_to_zeros(part) || readers[part] != 1) continue;
      if (!(other.type() == part.type()) || !(n->type(0) == part.type())) continue;
      sums.emplace(n, i);
      break;
    }
  }
  if (sums.empty()) return module;
  CloneOptions options;
  options.rewrite = [&](const Node& node, const std::vector<Value>& inputs, Graph& target) {
    const auto it = sums.find(&node);
    if (it == sums.end()) return std::vector<Value>();
    const Node& part = inputs[it->second].node();
    return std::vector<Value>{target
                                  .apply("index_add",
                                         {inputs[1 - it->second], part.input(1), part.input(2)},
                                         part.attributes(), SourceLocation{})
                                  .output(0)};
  };
  return clone_program(module.program, options);
}

}  // namespace weft
