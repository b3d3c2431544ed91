#include "weft/graph/control/cond.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/control/body.h"
#include "weft/graph/ir/draws.h"

namespace weft {
namespace {

// Builds a body function for `operands`, adds it to the graph and returns its name.
std::string add_branch(Graph& graph, const std::string& name, const std::vector<Value>& operands,
                       const FunctionBuilder& builder, SourceLocation loc) {
  Function f;
  f.name = name;
  f.body = std::make_unique<Graph>(graph.shared_ops());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < operands.size(); ++i) names.push_back(fmt::format("x{}", i));
  f.inputs = declare_like(graph, *f.body, types_of(operands), names);
  copy_requirements(graph, *f.body);
  const std::string what = fmt::format("function '{}'", name);
  {
    const Graph::Body building(graph, *f.body, what, loc);
    f.outputs = builder(*f.body, f.inputs);
  }
  check_closed(f, graph, what, loc);
  return add_body(graph, std::move(f), loc);
}

std::vector<Value> outputs_of(Node& node) {
  std::vector<Value> outputs;
  for (int i = 0; i < node.output_count(); ++i) outputs.push_back(node.output(i));
  return outputs;
}

// Adds a node of op `op` with these bodies. Reserves enough stream numbers for the body with the
// most random draws.
Node& apply_bodies(Graph& graph, std::string_view op, const std::vector<Value>& inputs,
                   const std::vector<Value>& operands, Attributes attributes,
                   const std::vector<std::string>& bodies, SourceLocation loc) {
  std::int64_t streams = 0;
  for (const std::string& body : bodies) {
    streams = std::max(streams, stream_count(graph, graph.function(body)));
  }
  if (streams > 0) attributes.set("stream", graph.reserve_streams(streams));
  Node& node = graph.apply(op, inputs, std::move(attributes), loc);
  try {
    for (const std::string& body : bodies) {
      require_of_operands(graph, graph.function(body), types_of(operands), loc);
    }
  } catch (const Error& error) {
    graph.fail(error, op, inputs, loc);
  }
  return node;
}

}  // namespace

std::vector<Value> cond(Arg predicate, const std::vector<Value>& operands,
                        const FunctionBuilder& then, const FunctionBuilder& otherwise,
                        const CondOptions& options, SourceLocation loc) {
  const Value flag = predicate.value("cond");
  Graph& graph = flag.graph();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    graph.check_owned(operands[i], fmt::format("cond '{}': operand {}", options.name, i), loc);
  }
  Graph::Undo undo(graph);
  const std::string a = add_branch(graph, options.name + ".then", operands, then, loc);
  const std::string b = add_branch(graph, options.name + ".else", operands, otherwise, loc);
  std::vector<Value> inputs = {flag};
  inputs.insert(inputs.end(), operands.begin(), operands.end());
  Node& node =
      apply_bodies(graph, "cond", inputs, operands, {{"then", a}, {"else", b}}, {a, b}, loc);
  undo.keep();
  return outputs_of(node);
}

std::vector<Value> while_loop(Graph& graph, const std::vector<Value>& carries,
                              const FunctionBuilder& condition, const FunctionBuilder& body,
                              std::int64_t limit, const WhileOptions& options, SourceLocation loc) {
  std::vector<Value> operands = carries;
  operands.insert(operands.end(), options.operands.begin(), options.operands.end());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    graph.check_owned(operands[i], fmt::format("while_loop '{}': operand {}", options.name, i),
                      loc);
  }
  Graph::Undo undo(graph);
  const std::string condition_name =
      add_branch(graph, options.name + ".condition", operands, condition, loc);
  if (graph.function(condition_name).body->draws()) {
    throw GraphError(
        fmt::format("while_loop '{}': the condition draws random numbers; draw them "
                    "in the body and carry them\n  {}",
                    options.name, graph.describe_source(loc)));
  }
  const std::string body_name = add_branch(graph, options.name + ".body", operands, body, loc);
  if (graph.function(body_name).body->draws()) {
    const Function& f = graph.function(body_name);
    for (const std::size_t i : random_key_inputs(f)) {
      if (i < carries.size()) continue;
      throw GraphError(fmt::format(
          "while_loop '{}': the body draws from operand {}, which is the same in every step; carry "
          "the key, and advance it in the body with advance_key()\n  {}",
          options.name, i, graph.describe_source(loc)));
    }
  }
  Node& node = apply_bodies(graph, "while_loop", operands, operands,
                            {{"condition", condition_name},
                             {"body", body_name},
                             {"carries", static_cast<std::int64_t>(carries.size())},
                             {"limit", limit}},
                            {condition_name, body_name}, loc);
  undo.keep();
  return outputs_of(node);
}

}  // namespace weft
