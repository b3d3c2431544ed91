#include "weft/graph/passes/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "weft/core/error.h"

namespace weft {
namespace {

[[noreturn]] void fail(const Node& node, std::string_view what) {
  throw GraphError(fmt::format("node {} ({}): {}\n  at {}", node.id(), node.op().name, what,
                               node.graph().where(node)));
}

void check_symbols(const Node& node, const Dim& dim) {
  const auto& known = node.graph().symbols();
  for (const SymbolPtr& s : dim.symbols()) {
    if (std::find(known.begin(), known.end(), s) == known.end()) {
      fail(node, fmt::format("dim '{}' uses symbol '{}' of another graph", dim.str(), s->name));
    }
  }
}

void check_node(const Graph& graph, const Node& node, std::size_t id) {
  if (&node.graph() != &graph || node.id() != id)
    fail(node, "is listed under a different id or graph");
  const OpRecord& op = node.op();
  if (graph.ops().find(op.name, op.version) == nullptr) {
    fail(node, fmt::format("version {} of the op is not in the graph's op set", op.version));
  }
  for (const Value& v : node.inputs()) {
    if (!v.defined()) continue;
    if (&v.graph() != &graph) fail(node, "an operand belongs to another graph");
    if (v.node().id() >= node.id()) fail(node, "an operand comes after its user");
    if (v.output() < 0 || v.output() >= v.node().output_count()) {
      fail(node, fmt::format("an operand is output {} of a node with {}", v.output(),
                             v.node().output_count()));
    }
  }
  if (!(op.complete(node.attributes()) == node.attributes())) fail(node, "attributes are missing");
  for (const auto& [name, value] : node.attributes()) {
    if (const Dim* d = std::get_if<Dim>(&value)) check_symbols(node, *d);
    if (const Shape* s = std::get_if<Shape>(&value)) {
      for (const Dim& d : *s) check_symbols(node, d);
    }
  }
  const std::vector<ValueType> types = infer_types(graph, op, node.inputs(), node.attributes());
  if (static_cast<int>(types.size()) != node.output_count()) {
    fail(node, fmt::format("the shape rule returns {} outputs, but the node has {}", types.size(),
                           node.output_count()));
  }
  for (int i = 0; i < node.output_count(); ++i) {
    const ValueType& type = types[static_cast<std::size_t>(i)];
    if (!(type == node.type(i))) {
      fail(node, fmt::format("output {} is {}, but the shape rule returns {}", i,
                             node.type(i).str(), type.str()));
    }
    for (const Dim& d : node.type(i).shape) check_symbols(node, d);
  }
}

void check_unique(const Graph& graph) {
  std::unordered_multimap<std::size_t, const Node*> seen;
  for (std::size_t id = 0; id < graph.node_count(); ++id) {
    const Node& n = graph.node(id);
    std::size_t hash =
        std::hash<const void*>{}(&n.op()) + 31 * n.attributes().hash() + n.instance();
    for (const Value& v : n.inputs()) hash = hash * 1099511628211ull + ValueHash{}(v);
    for (auto [it, end] = seen.equal_range(hash); it != end; ++it) {
      const Node& other = *it->second;
      if (&other.op() == &n.op() && other.instance() == n.instance() &&
          other.inputs() == n.inputs() && other.attributes() == n.attributes()) {
        fail(n, fmt::format("is equal to node {}: equal nodes must be merged", other.id()));
      }
    }
    seen.emplace(hash, &n);
  }
}

}  // namespace

void verify_graph(const Graph& graph) {
  for (std::size_t id = 0; id < graph.node_count(); ++id) check_node(graph, graph.node(id), id);
  check_unique(graph);
  for (const auto& [name, value] : graph.names()) {
    if (!value.defined() || &value.graph() != &graph) {
      throw GraphError(fmt::format("the name '{}' refers to a value of another graph", name));
    }
  }
  // Bodies own their functions, so the recursion depth is the nesting depth of the definitions.
  for (const Function& f : graph.functions()) {
    try {
      verify_graph(*f.body);
    } catch (const Error& e) {
      e.rethrow_as(fmt::format("in function '{}': {}", f.name, e.what()));
    }
    if (!f.gradient.empty() && !graph.has_function(f.gradient)) {
      throw GraphError(
          fmt::format("function '{}': its gradient '{}' is not in the graph", f.name, f.gradient));
    }
  }
}

void verify_program(const Program& program) {
  const Graph* graph = program.graph();
  if (graph == nullptr) return;
  const Updates updates = program.updates();
  verify_graph(*graph);
  std::set<std::string> names;
  for (const auto& [name, value] : program.outputs()) {
    if (!value.defined() || &value.graph() != graph) {
      throw GraphError(fmt::format("output '{}' is not a value of the program's graph", name));
    }
    if (!names.insert(name).second) {
      throw GraphError(fmt::format("two outputs are called '{}'", name));
    }
  }
  std::set<std::string> updated;
  for (const auto& [variable, value] : updates) {
    if (!value.defined() || &value.graph() != graph || &variable.graph() != graph) {
      throw GraphError(
          fmt::format("the update of '{}' is not a value of the program's graph", variable.name()));
    }
    if (!updated.insert(variable.name()).second) {
      throw GraphError(fmt::format("'{}' is updated twice", variable.name()));
    }
    bool same = variable.dtype() == value.dtype() && variable.shape().rank() == value.rank();
    for (int i = 0; same && i < value.rank(); ++i) {
      same = graph->facts().equal(variable.shape()[i], value.shape()[i]);
    }
    if (!same) {
      throw GraphError(fmt::format("the update of '{}' is {}, but the variable is {}",
                                   variable.name(), value.type().str(),
                                   variable.value().type().str()));
    }
  }
}

}  // namespace weft
