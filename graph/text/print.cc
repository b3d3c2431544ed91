#include <fmt/format.h>

#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "weft/graph/text/inline_constants.h"
#include "weft/graph/text/literal.h"
#include "weft/graph/text/text.h"

namespace weft {
namespace {

std::string_view comma(std::size_t i) { return i > 0 ? ", " : ""; }

class Printer {
 public:
  Printer(const PrintOptions& options, bool all_functions)
      : options_(options), all_functions_(all_functions) {}

  // Prints the statements of a graph: `nodes` in topological order, and declarations of
  // `variables`. `kept` contains values that are also used outside of nodes, such as program
  // outputs.
  void graph(const Graph& g, const std::vector<Node*>& nodes,
             const std::vector<Variable>& variables, const std::vector<Value>& kept,
             const std::string& indent) {
    if (!g.symbols().empty()) {
      out_ += indent + "dim ";
      for (std::size_t i = 0; i < g.symbols().size(); ++i) {
        out_ += fmt::format("{}{}", comma(i), quote_if_needed(g.symbols()[i]->name));
      }
      out_ += "\n";
    }
    for (const DimEquation& e : g.requirements()) {
      out_ += fmt::format("{}require {} == {}\n", indent, e.left.str(), e.right.str());
    }
    std::unordered_map<Value, std::string, ValueHash> names;
    std::set<std::string> called;
    for (Node* n : nodes) {
      if (n->op().name == "input") {
        const std::string name = fmt::format("%{}", quote_if_needed(n->attributes().text("name")));
        names.emplace(n->output(0), name);
        out_ += fmt::format("{}input {}: {}{}\n", indent, name, n->type(0).str(), place(*n));
      }
      for (const std::string& body : n->op().bodies) called.insert(n->attributes().text(body));
    }
    for (const Variable& v : variables) {
      names.emplace(v.value(), fmt::format("@{}", quote_if_needed(v.name())));
      variable(v, indent);
    }
    functions(g, called, indent);
    const std::unordered_set<const Node*> inlined = inline_constants(g, nodes, kept);
    std::size_t next = 0;
    for (Node* n : nodes) {
      if (n->op().name == "input" || n->op().name == "variable" || inlined.contains(n)) continue;
      node(*n, names, inlined, next, indent);
    }
    for (const auto& [name, value] : g.names()) {
      const auto it = names.find(value);
      if (it != names.end()) {
        out_ += fmt::format("{}name {} = {}\n", indent, quote_if_needed(name), it->second);
      }
    }
    names_ = std::move(names);
  }

  void function(const Function& f, const std::string& indent) {
    out_ += fmt::format("{}func @{}(", indent, quote_if_needed(f.name));
    for (std::size_t i = 0; i < f.inputs.size(); ++i) {
      out_ += fmt::format("{}%{}", i > 0 ? ", " : "",
                          quote_if_needed(f.inputs[i].node().attributes().text("name")));
    }
    out_ += ")";
    if (!f.gradient.empty()) out_ += fmt::format(" gradient @{}", quote_if_needed(f.gradient));
    out_ += " {\n";
    graph(*f.body, all_nodes(*f.body), f.body->variables(), f.outputs, indent + "  ");
    out_ += indent + "  return ";
    for (std::size_t i = 0; i < f.outputs.size(); ++i) {
      out_ += fmt::format("{}{}", comma(i), names_.at(f.outputs[i]));
    }
    out_ += fmt::format("\n{}}}\n", indent);
  }

  void program(const Program& p, const Updates& updates) {
    out_ += fmt::format("program {} {{\n", quote_if_needed(p.name()));
    if (p.precision()) out_ += fmt::format("  precision {}\n", precision_name(*p.precision()));
    if (p.is_batch_invariant()) out_ += "  batch_invariant\n";
    if (p.shards().count > 1) {
      out_ +=
          fmt::format("  shards {} along {}\n", p.shards().count, quote_if_needed(p.shards().axis));
    }
    for (const auto& [name, value] : p.outputs()) {
      out_ += fmt::format("  output {} = {}\n", quote_if_needed(name), names_.at(value));
    }
    for (const auto& [variable, value] : updates) {
      out_ += fmt::format("  update {} = {}\n", names_.at(variable.value()), names_.at(value));
    }
    out_ += "}\n";
  }

  static std::vector<Node*> all_nodes(const Graph& g) {
    std::vector<Node*> nodes;
    for (std::size_t id = 0; id < g.node_count(); ++id) nodes.push_back(&g.node(id));
    return nodes;
  }

  std::string take() { return std::move(out_); }
  void header() { out_ += "weft text 1\n"; }

 private:
  // Prints the `needed` functions and their gradient functions, in the order of the graph.
  void functions(const Graph& g, std::set<std::string> needed, const std::string& indent) {
    for (bool grown = true; grown;) {
      grown = false;
      for (const Function& f : g.functions()) {
        if (needed.count(f.name) && !f.gradient.empty()) grown |= needed.insert(f.gradient).second;
      }
    }
    for (const Function& f : g.functions()) {
      if (needed.count(f.name) || all_functions_) function(f, indent);
    }
  }

  void variable(const Variable& v, const std::string& indent) {
    const VariableInfo& info = v.info();
    const bool frozen = info.kind == VariableKind::parameter && !info.trainable;
    out_ += fmt::format("{}variable @{}: {} {}{} = ", indent, quote_if_needed(info.name),
                        variable_kind_name(info.kind), frozen ? "frozen " : "", info.type.str());
    const std::string a = float_text(info.initializer.a), b = float_text(info.initializer.b);
    switch (info.initializer.kind) {
      case Initializer::Kind::constant: out_ += fmt::format("constant({})", a); break;
      case Initializer::Kind::normal: out_ += fmt::format("normal({}, {})", a, b); break;
      case Initializer::Kind::uniform: out_ += fmt::format("uniform({}, {})", a, b); break;
      case Initializer::Kind::truncated_normal:
        out_ += fmt::format("truncated_normal({}, {})", a, b);
        break;
      case Initializer::Kind::key: out_ += "key()"; break;
    }
    for (std::size_t i = 0; i < info.aliases.size(); ++i) {
      out_ += fmt::format("{}@{}", i == 0 ? " alias " : ", ", quote_if_needed(info.aliases[i]));
    }
    out_ += place(v.value().node()) + "\n";
  }

  // Prints a constant operand as a number if the other operands determine its dtype, otherwise with
  // its type.
  std::string inlined_text(const Value& v, std::optional<DType> numbers) {
    const Tensor& value = v.node().attributes().tensor("value");
    const bool number = v.dtype() == DType::boolean || numbers == v.dtype();
    return v.rank() == 0 && number ? element_text(value, 0) : tensor(value);
  }

  void node(Node& n, std::unordered_map<Value, std::string, ValueHash>& names,
            const std::unordered_set<const Node*>& inlined, std::size_t& next,
            const std::string& indent) {
    std::string types;
    out_ += indent;
    for (int i = 0; i < n.output_count(); ++i) {
      const std::string name = fmt::format("%{}", next++);
      out_ += fmt::format("{}{}", i > 0 ? ", " : "", name);
      types += fmt::format("{}{}", i > 0 ? ", " : "", n.type(i).str());
      names.emplace(n.output(i), name);
    }
    if (n.op().name == "constant" && n.instance() == 0) {
      out_ += fmt::format(" = {}{}\n", tensor(n.attributes().tensor("value")), place(n));
      return;
    }
    const std::optional<DType> numbers = literal_dtype(n.inputs());
    out_ += fmt::format(" = {}", n.op().name);
    if (n.graph().ops().find(n.op().name) != &n.op()) out_ += fmt::format("!{}", n.op().version);
    out_ += "(";
    for (std::size_t i = 0; i < n.inputs().size(); ++i) {
      const Value& v = n.inputs()[i];
      const bool here = v.defined() && inlined.contains(v.node_pointer());
      out_ += comma(i);
      out_ += here ? inlined_text(v, numbers) : v.defined() ? names.at(v) : "_";
    }
    out_ += ")";
    // Attributes with default values are omitted, so that adding an attribute to an op does not
    // change existing text.
    std::string_view separator = " {";
    for (const auto& [name, value] : n.attributes()) {
      if (is_default(n.op(), name, value)) continue;
      out_ += fmt::format("{}{} = {}", separator, name, attribute(value));
      separator = ", ";
    }
    if (separator == ", ") out_ += "}";
    if (n.instance() != 0) out_ += fmt::format(" instance {}", n.instance());
    out_ += fmt::format(" : {}{}\n", types, place(n));
  }

  static bool is_default(const OpRecord& op, std::string_view name, const Attribute& value) {
    for (const AttributeSpec& spec : op.attributes) {
      if (spec.name == name) return !spec.required && identical(spec.default_value, value);
    }
    return false;
  }

  std::string attribute(const Attribute& value) {
    struct Visitor {
      Printer& printer;
      std::string operator()(bool v) const { return v ? "true" : "false"; }
      std::string operator()(std::int64_t v) const { return std::to_string(v); }
      std::string operator()(double v) const { return float_text(v); }
      std::string operator()(const std::string& v) const { return quote(v); }
      std::string operator()(DType v) const { return std::string(dtype_name(v)); }
      std::string operator()(const std::vector<std::int64_t>& v) const {
        std::string text = "[";
        for (std::size_t i = 0; i < v.size(); ++i) text += fmt::format("{}{}", comma(i), v[i]);
        return text + "]";
      }
      std::string operator()(const std::vector<double>& v) const {
        std::string text = "[";
        for (std::size_t i = 0; i < v.size(); ++i) {
          text += fmt::format("{}{}", comma(i), float_text(v[i]));
        }
        return text + "]";
      }
      std::string operator()(const Dim& v) const { return v.str(); }
      std::string operator()(const Shape& v) const { return v.str(); }
      std::string operator()(const Tensor& v) const { return printer.tensor(v); }
    };
    return std::visit(Visitor{*this}, value);
  }

  std::string tensor(const Tensor& t) {
    if (!t.defined()) return "undefined";
    std::string text = t.type_str();
    if (t.numel() > options_.inline_elements) {
      const std::string name = fmt::format("c{}", large_++);
      if (options_.constants != nullptr) options_.constants->insert_or_assign(name, t);
      return text + " constant " + name;
    }
    text += " {";
    for (std::int64_t i = 0; i < t.numel(); ++i) {
      text += fmt::format("{}{}", i > 0 ? ", " : "", element_text(t, i));
    }
    return text + "}";
  }

  std::string place(const Node& n) const {
    if (!options_.source_locations) return {};
    const std::string_view scope = n.graph().scope_of(n);
    const std::string line = n.graph().location(n).str();
    if (scope.empty() && line.empty()) return {};
    return fmt::format("  // {}{}{}", scope, scope.empty() || line.empty() ? "" : " ", line);
  }

  const PrintOptions& options_;
  bool all_functions_;
  std::string out_;
  std::unordered_map<Value, std::string, ValueHash> names_;  // for the last printed graph
  std::size_t large_ = 0;
};

}  // namespace

std::string to_text(const Program& program, const PrintOptions& options) {
  Printer printer(options, false);
  printer.header();
  const Updates updates = program.updates();
  std::vector<Value> kept;
  for (const auto& [name, value] : program.outputs()) kept.push_back(value);
  for (const auto& [variable, value] : updates) kept.push_back(value);
  if (program.graph() != nullptr) {
    printer.graph(*program.graph(), program.nodes(), program.variables(), kept, "");
  }
  printer.program(program, updates);
  return printer.take();
}

std::string to_text(const Graph& graph, const PrintOptions& options) {
  Printer printer(options, true);
  printer.header();
  printer.graph(graph, Printer::all_nodes(graph), graph.variables(), {}, "");
  return printer.take();
}

std::string to_text(const Function& function, const PrintOptions& options) {
  Printer printer(options, false);
  printer.function(function, "");
  return printer.take();
}

}  // namespace weft
