#include "weft/graph/ir/difference.h"

#include <fmt/format.h>

#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft {
namespace {

/// Compares two attributes. Symbols belong to one graph, so dims of different graphs are compared
/// as text.
bool same(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  if (const Dim* dim = std::get_if<Dim>(&a)) return dim->str() == std::get<Dim>(b).str();
  if (const Shape* shape = std::get_if<Shape>(&a)) return shape->str() == std::get<Shape>(b).str();
  return identical(a, b);
}

class Comparison {
 public:
  std::string programs(const Program& a, const Program& b) {
    if (a.name() != b.name()) return fmt::format("names {} and {}", a.name(), b.name());
    if (a.precision() != b.precision()) return "different precisions";
    if (a.is_batch_invariant() != b.is_batch_invariant()) return "only one is batch-invariant";
    if (a.shards() != b.shards()) return "different shards";
    const Updates left = a.updates(), right = b.updates();
    if (a.outputs().size() != b.outputs().size() || left.size() != right.size())
      return "different numbers of outputs or updates";
    for (std::size_t i = 0; i < a.outputs().size(); ++i) {
      const auto& [name, value] = a.outputs()[i];
      const auto& [other, match] = b.outputs()[i];
      if (name != other) return fmt::format("outputs {} and {}", name, other);
      enqueue(value, match);
    }
    for (auto l = left.begin(), r = right.begin(); l != left.end(); ++l, ++r) {
      enqueue(l->first.value(), r->first.value());
      enqueue(l->second, r->second);
    }
    return walk();
  }

  std::string whole_functions(const Function& a, const Function& b) {
    const std::string found = functions(a, b);
    return found.empty() ? walk() : found;
  }

 private:
  void enqueue(const Value& a, const Value& b) { pending_.emplace_back(a, b); }

  // Iterative, because graphs may be deep.
  std::string walk() {
    while (!pending_.empty()) {
      const auto [a, b] = pending_.back();
      pending_.pop_back();
      if (a.defined() != b.defined()) return "an operand is missing";
      if (!a.defined()) continue;
      if (a.output() != b.output()) return "different outputs of a node are read";
      const auto [known, fresh] = matches_.emplace(a.node_pointer(), b.node_pointer());
      if (known->second != b.node_pointer()) return "nodes are shared differently";
      if (!fresh) continue;
      std::string found = nodes(a.node(), b.node());
      if (!found.empty()) return found;
    }
    return {};
  }

  std::string nodes(const Node& a, const Node& b) {
    const std::string& op = a.op().name;
    const auto differ = [&](std::string_view what) {
      return fmt::format("{}: they differ in {}", op, what);
    };
    if (op != b.op().name) return fmt::format("{} in one is {} in the other", op, b.op().name);
    if (a.op().version != b.op().version) return differ("version");
    if (a.instance() != b.instance()) return differ("instance");
    if (a.output_count() != b.output_count() || a.inputs().size() != b.inputs().size())
      return differ("operands");
    for (int i = 0; i < a.output_count(); ++i) {
      if (a.type(i).str() != b.type(i).str()) return differ("type");
    }
    auto right = b.attributes().begin();
    for (const auto& [name, value] : a.attributes()) {
      if (right == b.attributes().end() || right->first != name || !same(value, right->second))
        return differ(name);
      ++right;
    }
    if (right != b.attributes().end()) return differ("attributes");
    if (op == "variable") {
      std::string found = variables(a.graph().variable_info(a), b.graph().variable_info(b));
      if (!found.empty()) return found;
    }
    for (const std::string& body : a.op().bodies) {
      std::string found =
          called(a.graph(), a.attributes().text(body), b.graph(), b.attributes().text(body));
      if (!found.empty()) return found;
    }
    for (std::size_t i = 0; i < a.inputs().size(); ++i) enqueue(a.inputs()[i], b.inputs()[i]);
    return {};
  }

  static std::string variables(const VariableInfo& a, const VariableInfo& b) {
    const bool equal = a.name == b.name && a.kind == b.kind && a.trainable == b.trainable &&
                       a.type.str() == b.type.str() && a.initializer == b.initializer &&
                       a.aliases == b.aliases;
    return equal ? "" : fmt::format("variable '{}' differs", a.name);
  }

  static std::string requirements(const Function& f) {
    std::string text;
    for (const DimEquation& e : f.body->requirements())
      text += fmt::format("{} == {}; ", e.left.str(), e.right.str());
    return text;
  }

  // Compares the called functions and their gradients. The recursion depth is the nesting depth of
  // function definitions.
  std::string called(const Graph& a, const std::string& name, const Graph& b,
                     const std::string& match) {
    const Function &left = a.function(name), &right = b.function(match);
    if (!seen_.insert(&left).second) return {};
    const std::string found = functions(left, right);
    return found.empty() && !left.gradient.empty() ? called(a, left.gradient, b, right.gradient)
                                                   : found;
  }

  std::string functions(const Function& a, const Function& b) {
    if (a.gradient != b.gradient || a.inputs.size() != b.inputs.size() ||
        a.outputs.size() != b.outputs.size() || requirements(a) != requirements(b))
      return fmt::format("function '{}' differs", a.name);
    for (std::size_t i = 0; i < a.inputs.size(); ++i) enqueue(a.inputs[i], b.inputs[i]);
    for (std::size_t i = 0; i < a.outputs.size(); ++i) enqueue(a.outputs[i], b.outputs[i]);
    return {};
  }

  std::vector<std::pair<Value, Value>> pending_;
  std::unordered_map<const Node*, const Node*> matches_;
  std::set<const Function*> seen_;
};

}  // namespace

std::string difference(const Program& a, const Program& b) { return Comparison().programs(a, b); }

std::string difference(const Function& a, const Function& b) {
  return Comparison().whole_functions(a, b);
}

}  // namespace weft
