// to_dot(): prints programs as Graphviz drawings.
#include <fmt/format.h>

#include <map>

#include "weft/graph/text/text.h"

namespace weft {
namespace {

std::string escape(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

std::string node_line(const Node& n) {
  const std::string& op = n.op().name;
  std::string label = op, style = "shape=box";
  if (op == "input") {
    label = fmt::format("%{}", escape(n.attributes().text("name")));
    style = "shape=ellipse, style=filled, fillcolor=lightblue";
  } else if (op == "variable") {
    label = fmt::format("@{}", escape(n.attributes().text("name")));
    style = "shape=ellipse, style=filled, fillcolor=lightyellow";
  } else if (op == "constant") {
    const Tensor& value = n.attributes().tensor("value");
    label = value.numel() == 1 ? fmt::format("{:g}", value.at(0)) : "constant";
    style = "shape=ellipse";
  } else if (n.op().has_bodies()) {
    label = n.op().name;
    for (const std::string& body : n.op().bodies) {
      label += " " + escape(n.attributes().text(body));
    }
  }
  for (int i = 0; i < n.output_count(); ++i) label += fmt::format("\\n{}", escape(n.type(i).str()));
  return fmt::format("n{} [label=\"{}\", {}];\n", n.id(), label, style);
}

}  // namespace

std::string to_dot(const Program& program) {
  std::string out = fmt::format("digraph \"{}\" {{\n  rankdir=TB;\n", escape(program.name()));
  const std::vector<Value> roots = program.roots();
  const std::vector<Node*> nodes = reachable_nodes(roots);
  std::map<std::string, std::string> clusters;  // keyed by scope
  for (const Node* n : nodes)
    clusters[std::string(n->graph().scope_of(*n))] += "    " + node_line(*n);
  std::size_t next = 0;
  for (const auto& [scope, lines] : clusters) {
    if (scope.empty()) {
      out += lines;
    } else {
      out += fmt::format("  subgraph cluster_{} {{\n    label=\"{}\";\n{}  }}\n", next++,
                         escape(scope), lines);
    }
  }
  for (const Node* n : nodes) {
    for (const Value& v : n->inputs()) {
      if (v.defined()) out += fmt::format("  n{} -> n{};\n", v.node().id(), n->id());
    }
  }
  std::size_t i = 0;
  const auto root = [&](std::string_view label, const Value& v) {
    out += fmt::format("  r{} [label=\"{}\", shape=plaintext];\n  n{} -> r{};\n", i, escape(label),
                       v.node().id(), i);
    ++i;
  };
  for (const auto& [name, value] : program.outputs()) root(name, value);
  for (const auto& [variable, value] : program.updates()) {
    root(fmt::format("update @{}", variable.name()), value);
  }
  return out + "}\n";
}

}  // namespace weft
