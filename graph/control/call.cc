#include "weft/graph/control/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "weft/core/error.h"
#include "weft/graph/ir/difference.h"
#include "weft/graph/ir/draws.h"

namespace weft {
namespace {

// Symbols get their meaning from the operands, so that each must be a whole size somewhere.
void check_bound(const Function& function, const Graph& outer, SourceLocation loc) {
  const SymbolMap bound = bind_symbols(function, function.inputs);
  for (const SymbolPtr& s : function.body->symbols()) {
    if (!bound.has(s)) {
      throw ShapeError(
          fmt::format("function '{}': no input has the symbol '{}' alone as a size, so that no "
                      "call says what it "
                      "stands for\n  {}",
                      function.name, s->name, outer.describe_source(loc)));
    }
  }
}

void check_outputs(const Function& function, const Graph& outer, SourceLocation loc) {
  if (function.outputs.empty()) {
    throw GraphError(fmt::format("function '{}' has no outputs\n  {}", function.name,
                                 outer.describe_source(loc)));
  }
  for (std::size_t i = 0; i < function.outputs.size(); ++i) {
    function.body->check_owned(function.outputs[i],
                               fmt::format("output {} of function '{}'", i, function.name), loc);
  }
}

// Declares inputs of `body` that look like `operands`. A symbol that is a whole size of some
// operand keeps its name, so that messages and text read alike; a size made of other symbols
// becomes a symbol of its own ("d0", ...), the same for equal sizes.
std::vector<Value> declare_like(Graph& body, const std::vector<Value>& operands) {
  std::set<SymbolPtr> alone;
  for (const Value& v : operands) {
    for (const Dim& d : v.shape()) {
      if (const SymbolPtr s = d.as_symbol()) alone.insert(s);
    }
  }
  std::map<std::string, Dim> composite;
  const auto own_size = [&](const Dim& d) {
    const auto symbols = d.symbols();
    if (std::all_of(symbols.begin(), symbols.end(),
                    [&](const SymbolPtr& s) { return alone.count(s) != 0; })) {
      return d.substitute(
          [&](const SymbolPtr& s) -> std::optional<Dim> { return body.dim(s->name); });
    }
    const auto [it, fresh] = composite.emplace(d.str(), Dim());
    if (fresh) it->second = body.dim(fmt::format("d{}", composite.size() - 1));
    return it->second;
  };
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Shape shape;
    for (const Dim& d : operands[i].shape()) shape.push_back(own_size(d));
    inputs.push_back(
        body.input(fmt::format("x{}", i), ValueType{operands[i].dtype(), std::move(shape)}, {}));
  }
  return inputs;
}

// What the caller has required of symbols that the body has too.
void copy_requirements(const Graph& from, Graph& to) {
  const auto names = to.symbols();
  for (const DimEquation& e : from.requirements()) {
    bool known = true;
    const auto own = [&](const SymbolPtr& s) -> std::optional<Dim> {
      for (const SymbolPtr& t : names) {
        if (t->name == s->name) return Dim(t);
      }
      known = false;
      return std::nullopt;
    };
    const Dim left = e.left.substitute(own), right = e.right.substitute(own);
    if (known) to.require(left == right, {});
  }
}

// Adds the function unless the graph has it already.
void add_or_share(Graph& graph, Function function, SourceLocation loc) {
  if (graph.has_function(function.name)) {
    const std::string different = difference(graph.function(function.name), function);
    if (different.empty()) return;
    throw GraphError(fmt::format(
        "custom_gradient '{}': the graph has another function of this name ({}); give this one "
        "another name\n  {}",
        function.name, different, graph.describe_source(loc)));
  }
  graph.add_function(std::move(function), loc);
}

}  // namespace

std::function<std::optional<Dim>(const SymbolPtr&)> SymbolMap::lookup() const {
  return [this](const SymbolPtr& s) -> std::optional<Dim> {
    const auto it = map_.find(s);
    return it == map_.end() ? std::nullopt : std::optional<Dim>(it->second);
  };
}

SymbolMap bind_symbols(const Function& function, const std::vector<Value>& operands) {
  SymbolMap map;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    const Shape& formal = function.inputs[i].shape();
    for (int axis = 0; axis < formal.rank(); ++axis) {
      if (const SymbolPtr s = formal[axis].as_symbol()) map.bind(s, operands[i].shape()[axis]);
    }
  }
  return map;
}

const Function& define_function(Graph& graph, std::string_view name,
                                const std::vector<FormalInput>& inputs,
                                const FunctionBuilder& builder, SourceLocation loc) {
  Function function;
  function.name = std::string(name);
  function.body = std::make_unique<Graph>(graph.shared_ops());
  for (const FormalInput& formal : inputs) {
    Shape shape;
    for (const AxisSize& size : formal.sizes) {
      const auto* symbol = std::get_if<std::string>(&size.value());
      shape.push_back(symbol != nullptr ? function.body->dim(*symbol)
                                        : std::get<Dim>(size.value()));
    }
    function.inputs.push_back(
        function.body->input(formal.name, ValueType{formal.dtype, std::move(shape)}, loc));
  }
  function.outputs = builder(*function.body, function.inputs);
  check_outputs(function, graph, loc);
  check_bound(function, graph, loc);
  return graph.add_function(std::move(function), loc);
}

std::vector<Value> call(Graph& graph, std::string_view function,
                        const std::vector<Value>& arguments, SourceLocation loc) {
  const Function* f = nullptr;
  try {
    f = &graph.function(function);
  } catch (const Error& e) {
    graph.fail(e, "call", arguments, loc);
  }
  Attributes attributes{{"body", std::string(function)}};
  if (const std::int64_t count = stream_count(graph, *f); count > 0) {
    attributes.set("stream", graph.reserve_streams(count));
  }
  Node& node = graph.apply("call", arguments, std::move(attributes), loc);
  const SymbolMap bound = bind_symbols(*f, arguments);
  for (const DimEquation& e : f->body->requirements()) {
    try {
      graph.require(bound.apply(e.left) == bound.apply(e.right), loc);
    } catch (const Error& error) {
      graph.fail(error, "call", arguments, loc);
    }
  }
  std::vector<Value> outputs;
  for (int i = 0; i < node.output_count(); ++i) outputs.push_back(node.output(i));
  return outputs;
}

std::vector<Value> custom_gradient(Graph& graph, std::string_view name,
                                   const std::vector<Value>& arguments,
                                   const FunctionBuilder& forward, const FunctionBuilder& gradient,
                                   SourceLocation loc) {
  if (arguments.empty()) {
    throw GraphError(fmt::format("custom_gradient '{}' needs at least one argument\n  {}", name,
                                 graph.describe_source(loc)));
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    graph.check_owned(arguments[i], fmt::format("custom_gradient '{}': argument {}", name, i), loc);
  }
  Function f;
  f.name = std::string(name);
  f.gradient = f.name + ".gradient";
  f.body = std::make_unique<Graph>(graph.shared_ops());
  f.inputs = declare_like(*f.body, arguments);
  copy_requirements(graph, *f.body);
  f.outputs = forward(*f.body, f.inputs);
  check_outputs(f, graph, loc);
  check_bound(f, graph, loc);

  Function b;
  b.name = f.gradient;
  b.body = std::make_unique<Graph>(graph.shared_ops());
  std::vector<Value> operands = f.inputs;
  operands.insert(operands.end(), f.outputs.begin(), f.outputs.end());
  operands.insert(operands.end(), f.outputs.begin(), f.outputs.end());  // cotangents
  b.inputs = declare_like(*b.body, operands);
  copy_requirements(*f.body, *b.body);
  b.outputs = gradient(*b.body, b.inputs);
  if (b.outputs.size() != arguments.size()) {
    throw GradientError(
        fmt::format("custom_gradient '{}': the gradient gives {} values, but there are {} arguments"
                    "\n  {}",
                    name, b.outputs.size(), arguments.size(), graph.describe_source(loc)));
  }
  for (std::size_t i = 0; i < b.outputs.size(); ++i) {
    Value& v = b.outputs[i];
    if (!v.defined()) {
      const Value zero = b.body->scalar(b.inputs[i].dtype(), 0, loc);
      v = b.body->apply("broadcast_to", {zero}, {{"shape", b.inputs[i].shape()}}, loc).output(0);
    }
    b.body->check_owned(v, fmt::format("gradient {} of '{}'", i, name), loc);
    if (!(v.type() == b.inputs[i].type())) {
      throw GradientError(fmt::format(
          "custom_gradient '{}': the gradient of argument {} is {}, but the argument is {}\n  {}",
          name, i, v.type().str(), b.inputs[i].type().str(), graph.describe_source(loc)));
    }
  }
  check_bound(b, graph, loc);
  add_or_share(graph, std::move(b), loc);
  add_or_share(graph, std::move(f), loc);
  return call(graph, name, arguments, loc);
}

}  // namespace weft
