#include "weft/graph/control/body.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "weft/core/error.h"
#include "weft/graph/ir/difference.h"

namespace weft {

ControlOp control_op(const Node& node) {
  const std::string& name = node.op().name;
  if (name == "scan") return ControlOp::scan;
  if (name == "cond") return ControlOp::cond;
  if (name == "while_loop") return ControlOp::while_loop;
  throw GraphError(fmt::format("op {} has bodies, but is not a control-flow op\n  {}", name,
                               node.graph().where(node)));
}

std::vector<ValueType> types_of(const std::vector<Value>& values) {
  std::vector<ValueType> types;
  for (const Value& v : values) types.push_back(v.type());
  return types;
}

std::string add_body(Graph& graph, Function function, SourceLocation loc) {
  const std::string name = function.name;
  for (int number = 2; graph.has_function(function.name); ++number) {
    if (difference(graph.function(function.name), function).empty()) return function.name;
    function.name = fmt::format("{}.{}", name, number);
  }
  return graph.add_function(std::move(function), loc).name;
}

std::vector<Value> declare_like(const Graph& outer, Graph& body,
                                const std::vector<ValueType>& types,
                                const std::vector<std::string>& names) {
  std::set<SymbolPtr> alone;
  for (const ValueType& type : types) {
    for (const Dim& d : type.shape) {
      if (const SymbolPtr s = d.as_symbol()) alone.insert(s);
    }
  }
  std::map<std::string, Dim> composite;
  int number = 0;
  // The name must be unused in `outer`, or copy_requirements() would copy requirements of an
  // unrelated symbol.
  const auto new_symbol = [&] {
    std::string name;
    do {
      name = fmt::format("d{}", number++);
    } while (outer.find_symbol(name) != nullptr);
    return body.dim(name);
  };
  const auto own_size = [&](const Dim& d) {
    const auto symbols = d.symbols();
    if (std::all_of(symbols.begin(), symbols.end(),
                    [&](const SymbolPtr& s) { return alone.count(s) != 0; })) {
      return d.substitute(
          [&](const SymbolPtr& s) -> std::optional<Dim> { return body.dim(s->name); });
    }
    const auto [it, fresh] = composite.emplace(d.str(), Dim());
    if (fresh) it->second = new_symbol();
    return it->second;
  };
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < types.size(); ++i) {
    Shape shape;
    for (const Dim& d : types[i].shape) shape.push_back(own_size(d));
    inputs.push_back(body.input(names[i], ValueType{types[i].dtype, std::move(shape)}, {}));
  }
  return inputs;
}

void copy_requirements(const Graph& from, Graph& to) {
  for (const DimEquation& e : from.requirements()) {
    bool known = true;
    const auto own = [&](const SymbolPtr& s) -> std::optional<Dim> {
      if (SymbolPtr same = to.find_symbol(s->name)) return Dim(std::move(same));
      known = false;
      return std::nullopt;
    };
    const Dim left = e.left.substitute(own), right = e.right.substitute(own);
    if (known) to.require(left == right, {});
  }
}

void require_of_operands(Graph& graph, const Function& function,
                         const std::vector<ValueType>& operands, SourceLocation loc) {
  const SymbolMap bound = bind_symbols(function, operands);
  for (const DimEquation& e : function.body->requirements()) {
    graph.require(bound.apply(e.left) == bound.apply(e.right), loc);
  }
}

void check_closed(const Function& function, const Graph& outer, std::string_view what,
                  SourceLocation loc) {
  if (function.outputs.empty()) {
    throw GraphError(fmt::format("{} has no outputs\n  {}", what, outer.describe_source(loc)));
  }
  for (std::size_t i = 0; i < function.outputs.size(); ++i) {
    const Value& v = function.outputs[i];
    if (v.defined() && &v.graph() == &outer) {
      throw GraphError(
          fmt::format("output {} of {} is {} of the enclosing graph; pass it as an operand\n  {}",
                      i, what, v.type().str(), outer.describe_source(loc)));
    }
    function.body->check_owned(v, fmt::format("output {} of {}", i, what), loc);
  }
  // Calls bind symbols to sizes of the operands, so each symbol must be the full size of an input
  // axis.
  std::set<SymbolPtr> bound;
  for (const Value& formal : function.inputs) {
    for (const Dim& d : formal.shape()) {
      if (const SymbolPtr s = d.as_symbol()) bound.insert(s);
    }
  }
  for (const SymbolPtr& s : function.body->symbols()) {
    if (bound.count(s) != 0) continue;
    throw ShapeError(fmt::format(
        "{}: no input axis has exactly the symbol '{}' as its size, so calls cannot determine its "
        "value\n  {}",
        what, s->name, outer.describe_source(loc)));
  }
}

}  // namespace weft
