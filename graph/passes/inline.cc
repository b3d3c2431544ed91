// Inlining: replaces calls with the bodies of their functions.

#include <algorithm>
#include <map>

#include "weft/graph/control/call.h"
#include "weft/graph/ir/draws.h"
#include "weft/graph/passes/pipeline.h"

namespace weft {
namespace {

class Inliner {
 public:
  Inliner(std::uint32_t next_instance, std::int64_t* steps)
      : next_instance_(next_instance), steps_(steps) {}

  // Expands a call. Nested calls are expanded recursively. A body owns the functions that it calls,
  // so the recursion depth is the nesting depth of the definitions, not the depth of the graph.
  // Stream 0 of the call's graph becomes stream `first` of the target.
  std::vector<Value> expand(const Node& call, const std::vector<Value>& inputs, Graph& target,
                            std::int64_t first) {
    const Function& function = call.graph().function(call.attributes().text("body"));
    const SymbolMap bound = bind_symbols(function, inputs);
    for (const DimEquation& e : function.body->requirements()) {
      target.require(bound.apply(e.left) == bound.apply(e.right), call.graph().location(call));
    }
    const std::int64_t inside = first + call.attributes().integer("stream");
    // Rematerialised copies must not be merged with other nodes, so they are given new instance
    // numbers.
    std::map<std::uint32_t, std::uint32_t> instances;
    const auto instance = [&](std::uint32_t own) {
      if (own == 0 && call.instance() == 0) return std::uint32_t{0};
      const auto [it, fresh] = instances.emplace(own, next_instance_);
      if (fresh) ++next_instance_;
      return it->second;
    };
    CloneOptions options;
    options.steps = steps_;
    options.map_symbol = bound.lookup();
    options.first_stream = inside;
    options.rewrite = [&](const Node& node, const std::vector<Value>& operands, Graph& graph) {
      if (is_call(node)) return expand(node, operands, graph, inside);
      // For ops with bodies, the cloner also copies their functions, with the options below.
      if (node.op().has_bodies()) return std::vector<Value>();
      const std::size_t before = graph.node_count();
      Node& copy =
          graph.apply(node.op(), operands,
                      with_streams_from(inside, node, node.attributes().substitute(bound.lookup())),
                      node.graph().location(node), instance(node.instance()));
      if (graph.node_count() != before) graph.copy_source_info(node, copy);
      std::vector<Value> outputs;
      for (int i = 0; i < copy.output_count(); ++i) outputs.push_back(copy.output(i));
      return outputs;
    };
    Cloner cloner(target, std::move(options));
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      cloner.set(function.inputs[i], inputs[i]);
    }
    std::vector<Value> outputs;
    for (const Value& v : function.outputs) outputs.push_back(cloner.copy(v));
    return outputs;
  }

 private:
  std::uint32_t next_instance_;
  std::int64_t* steps_;
};

}  // namespace

Module inline_calls(Module module, const PassOptions& pass) {
  std::uint32_t last = 0;
  bool calls = false;
  for (const Node* n : module.program.nodes()) {
    last = std::max(last, n->instance());
    calls = calls || is_call(*n);
  }
  if (!calls) return module;
  Inliner inliner(last + 1, pass.steps);
  CloneOptions options;
  options.steps = pass.steps;
  options.rewrite = [&](const Node& node, const std::vector<Value>& inputs, Graph& target) {
    return is_call(node) ? inliner.expand(node, inputs, target, 0) : std::vector<Value>();
  };
  return clone_program(module.program, options);
}

}  // namespace weft
