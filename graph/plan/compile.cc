#include "weft/graph/plan/compile.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/graph/control/call.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/graph/plan/compile_bodies.h"

namespace weft {
namespace {

std::string close_names(const Graph& graph, std::string_view name) {
  // Finds names that contain the last component of `name`, because the usual mistake is a missing
  // scope.
  const std::string_view leaf = name.substr(name.rfind('.') + 1);
  std::vector<std::string> names, close;
  for (const auto& [known, value] : graph.names()) {
    names.push_back(known);
    if (known.find(leaf) != std::string::npos) close.push_back(known);
  }
  for (const Variable& v : graph.variables()) names.push_back(v.name());
  return did_you_mean(name, names) +
         (close.empty() ? fmt::format("; the graph has {} named values", graph.names().size())
                        : "; close names: " + list_names(close, 8));
}

Program with_fetches(const Program& program, const std::vector<std::string>& fetch) {
  Program result = program;
  for (const std::string& name : fetch) {
    const auto& outputs = result.outputs();
    const auto there = std::find_if(outputs.begin(), outputs.end(),
                                    [&](const auto& output) { return output.first == name; });
    if (there != outputs.end()) continue;
    Value value = program.graph()->find_named(name);
    if (!value.defined() && program.graph()->has_variable(name)) {
      value = program.graph()->find_variable(name);
    }
    if (!value.defined()) {
      throw GraphError(
          fmt::format("cannot fetch '{}': it is neither an output of program '{}' nor "
                      "the name of a value{}",
                      name, program.name(), close_names(*program.graph(), name)));
    }
    result.output(name, value);
  }
  return result;
}

void number_values(CompiledProgram& c) {
  std::unordered_map<const Node*, NodeId> index;
  index.reserve(c.nodes.size());
  c.first_value.resize(c.nodes.size());
  c.node_inputs.resize(c.nodes.size());
  c.leaves.resize(c.nodes.size());
  const Graph& graph = *c.module.graph;
  // Returns the id of a value and marks the value as needed.
  const auto number = [&](const Value& v) {
    const ValueId id = c.first_value[index.at(v.node_pointer())] + v.output();
    c.values[id].needed = true;
    return id;
  };
  for (const NodeId n : c.nodes.ids()) {
    const Node& node = *c.nodes[n];
    index.emplace(&node, n);
    c.first_value[n] = c.values.end_id();
    for (const Value& v : node.inputs()) {
      c.node_inputs[n].push_back(v.defined() ? number(v) : ValueId());
    }
    for (int o = 0; o < node.output_count(); ++o) {
      ValueId root = c.values.end_id();
      if (node.op().has(Trait::alias)) root = c.values[c.node_inputs[n].at(0)].root;
      c.values.push_back({n, o, root, false});
    }
    if (is_call(node)) {
      throw GraphError(fmt::format("the call of '{}' at {} was not inlined",
                                   node.attributes().text("body"), graph.where(node)));
    }
    if (!node.op().has(Trait::leaf)) continue;
    CompiledProgram::Leaf& leaf = c.leaves[n];
    if (node.op().name == "input") {
      leaf = {CompiledProgram::LeafKind::input,
              c.find_input(node.attributes().text("name")).number()};
    } else if (node.op().name == "variable") {
      leaf = {CompiledProgram::LeafKind::variable,
              c.find_variable(graph.variable_info(node).name).number()};
    } else if (node.op().name == "constant") {
      leaf = {CompiledProgram::LeafKind::constant, static_cast<int>(c.constants.size())};
      c.constants.push_back(node.attributes().tensor("value"));
    }
  }
  for (const auto& [name, value] : c.module.program.outputs()) {
    c.outputs.emplace_back(name, number(value));
  }
  for (const auto& [variable, value] : c.module.program.updates()) {
    const VariableId v = c.find_variable(variable.name());
    c.variables[v].updated = true;
    c.updates.emplace_back(v, number(value));
  }
}

void mark_streamed(CompiledProgram& c, const std::vector<std::string>& names) {
  c.streamed.assign(c.outputs.size(), 0);
  for (const std::string& name : names) {
    const auto is_it = [&](const auto& output) { return output.first == name; };
    const auto output = std::find_if(c.outputs.begin(), c.outputs.end(), is_it);
    if (output == c.outputs.end()) {
      std::vector<std::string> known;
      for (const auto& [other, value] : c.outputs) known.push_back(other);
      throw ArgumentError(
          fmt::format("program '{}' has no output '{}' to stream{}; its outputs are: {}", c.name,
                      name, did_you_mean(name, known), list_names(known)));
    }
    c.streamed[static_cast<std::size_t>(output - c.outputs.begin())] = 1;
  }
}

}  // namespace

InputId CompiledProgram::find_input(std::string_view name) const {
  for (const InputId i : inputs.ids()) {
    if (inputs[i].name == name) return i;
  }
  return {};
}

VariableId CompiledProgram::find_variable(std::string_view name) const {
  for (const VariableId v : variables.ids()) {
    if (variables[v].info.name == name) return v;
  }
  return {};
}

std::shared_ptr<CompiledProgram> compile_module(Module module,
                                                std::vector<CompiledProgram::Input> inputs,
                                                const std::vector<DimEquation>& requirements,
                                                const CompileOptions& options) {
  auto c = std::make_shared<CompiledProgram>(
      options.passes ? run_passes(std::move(module),
                                  {.disabled = options.disabled, .precision = options.precision})
                     : inline_calls(std::move(module)));
  c->name = c->module.program.name();
  c->inputs = IdVector<InputId, CompiledProgram::Input>(std::move(inputs));
  c->requirements = requirements;
  for (const Variable& v : c->module.program.variables()) c->variables.push_back({v.info(), false});
  c->nodes = IdVector<NodeId, Node*>(c->module.program.nodes());
  number_values(*c);
  compile_bodies(*c, options);
  return c;
}

std::shared_ptr<const CompiledProgram> compile(const Program& program,
                                               const std::vector<std::string>& fetch,
                                               const CompileOptions& options) {
  if (program.graph() == nullptr) {
    throw GraphError(fmt::format("program '{}' has neither outputs nor updates", program.name()));
  }
  const Program wanted = with_fetches(program, fetch);
  std::unordered_set<std::string> required;
  for (const Value& v : wanted.inputs()) required.insert(v.node().attributes().text("name"));
  std::vector<CompiledProgram::Input> inputs;
  for (const Value& v : program.graph()->inputs()) {
    const std::string& name = v.node().attributes().text("name");
    inputs.push_back({name, v.type(), required.contains(name)});
  }
  auto c = compile_module(clone_program(wanted), std::move(inputs), program.graph()->requirements(),
                          options);
  mark_streamed(*c, options.streamed);
  return c;
}

}  // namespace weft
