#include "weft/graph/plan/compile_bodies.h"

#include <fmt/format.h>

#include <unordered_set>

#include "weft/graph/control/body.h"

namespace weft {
namespace {

using Index = std::size_t;

// How a node uses one of its functions.
struct Role {
  const Function* function;
  int first_operand = 0;      // node operand for input 0 of the function
  int carries = 0;            // number of carries, which are the first inputs and outputs
  std::vector<bool> outputs;  // indexed by function output: true if needed
  std::int64_t stream = 0;    // stream number of the node that is stream 0 of the function
};

// Marks the carries that are needed because their final value is used or because a needed output is
// computed from them.
void mark_needed_carries(Role& role) {
  const Function& f = *role.function;
  const auto carries = static_cast<Index>(role.carries);
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<Value> roots;
    for (Index o = 0; o < f.outputs.size(); ++o) {
      if (role.outputs[o]) roots.push_back(f.outputs[o]);
    }
    const std::vector<Node*> nodes = reachable_nodes(roots);
    const std::unordered_set<const Node*> reached(nodes.begin(), nodes.end());
    for (Index i = 0; i < carries; ++i) {
      if (role.outputs[i] || !reached.contains(f.inputs[i].node_pointer())) continue;
      role.outputs[i] = true;
      changed = true;
    }
  }
}

std::vector<Role> roles_of(const CompiledProgram& c, NodeId n) {
  const Node& node = *c.nodes[n];
  const Graph& graph = node.graph();
  const Attributes& a = node.attributes();
  const ControlOp op = control_op(node);
  std::vector<Role> roles;
  for (const std::string& body : node.op().bodies) {
    Role role;
    role.function = &graph.function(a.text(body));
    role.outputs.assign(role.function->outputs.size(), true);
    role.stream = a.integer("stream");
    if (op == ControlOp::cond) {
      role.first_operand = 1;
    } else if (body == "body") {
      role.carries = static_cast<int>(a.integer("carries"));
    }
    if (op != ControlOp::while_loop) {
      for (Index o = 0; o < role.outputs.size(); ++o) {
        role.outputs[o] = c.values[c.first_value[n] + static_cast<int>(o)].needed;
      }
      mark_needed_carries(role);
    }
    roles.push_back(std::move(role));
  }
  return roles;
}

CompiledProgram::Body compile_role(const CompiledProgram& outer, const Role& role,
                                   const CompileOptions& options) {
  const Function& f = *role.function;
  Module module{empty_copy(*f.body), Program(f.name)};
  module.program.take_options(outer.module.program);
  Graph& graph = *module.graph;
  Cloner cloner(graph, {.first_stream = role.stream});
  std::vector<Variable> carries;
  for (int i = 0; i < static_cast<int>(f.inputs.size()); ++i) {
    const Value formal = f.inputs[static_cast<Index>(i)];
    if (i >= role.carries) {
      cloner.copy(formal);
      continue;
    }
    // A carry becomes a variable that every step updates, so that the logic for updating variables
    // in place applies to it.
    carries.push_back(graph.variable(formal.node().attributes().text("name"), formal.type(),
                                     {.kind = VariableKind::cache, .trainable = false}, {}));
    cloner.set(formal, carries.back().value());
  }
  CompiledProgram::Body body;
  for (Index o = 0; o < f.outputs.size(); ++o) {
    if (!role.outputs[o]) continue;
    const Value value = cloner.copy(f.outputs[o]);
    if (o < carries.size()) {
      module.program.update(carries[o], value, {});
    } else {
      module.program.output(fmt::format("{}", o), value, {});
      body.outputs.push_back(static_cast<int>(o));
    }
  }
  std::vector<CompiledProgram::Input> inputs;
  for (Index i = carries.size(); i < f.inputs.size(); ++i) {
    inputs.push_back({f.inputs[i].node().attributes().text("name"), f.inputs[i].type(), true});
  }
  body.program =
      compile_module(std::move(module), std::move(inputs), f.body->requirements(), options);
  for (const Value& formal : f.inputs) body.formals.push_back(formal.type());
  body.first_operand = role.first_operand;
  for (const InputId i : body.program->inputs.ids()) {
    body.operands.push_back(role.first_operand + role.carries + i.number());
  }
  for (const auto& use : body.program->variables) {
    for (int i = 0; i < role.carries; ++i) {
      if (f.inputs[static_cast<Index>(i)].node().attributes().text("name") == use.info.name)
        body.carries.push_back(i);
    }
  }
  return body;
}

}  // namespace

void compile_bodies(CompiledProgram& program, const CompileOptions& options) {
  program.bodies.resize(program.nodes.size());
  for (const NodeId n : program.nodes.ids()) {
    if (!program.nodes[n]->op().has_bodies()) continue;
    for (const Role& role : roles_of(program, n)) {
      program.bodies[n].push_back(compile_role(program, role, options));
    }
  }
}

}  // namespace weft
