#include "weft/graph/control/call.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/control/body.h"
#include "weft/graph/ir/clone.h"
#include "weft/graph/ir/difference.h"
#include "weft/graph/ir/draws.h"

namespace weft {
namespace {

std::vector<Value> declare_operands(const Graph& outer, Graph& body,
                                    const std::vector<Value>& operands) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < operands.size(); ++i) names.push_back(fmt::format("x{}", i));
  return declare_like(outer, body, types_of(operands), names);
}

std::string label(const Function& function) { return fmt::format("function '{}'", function.name); }

// Adds the function unless the graph has an equal one. Throws GraphError if a different function
// has its name.
void add_or_share(Graph& graph, Function function, SourceLocation loc) {
  if (graph.has_function(function.name)) {
    const std::string different = difference(graph.function(function.name), function);
    if (different.empty()) return;
    throw GraphError(
        fmt::format("custom_gradient '{}': the graph already has a different function with this "
                    "name ({}); choose another name\n  {}",
                    function.name, different, graph.describe_source(loc)));
  }
  graph.add_function(std::move(function), loc);
}

// Returns a function of the graph. If the graph is the body of a loop or branch, a function of an
// enclosing graph is first copied to the body.
const Function& visible_function(Graph& graph, const std::string& name) {
  for (const Graph* owner = &graph; owner != nullptr; owner = owner->enclosing()) {
    if (!owner->has_function(name)) continue;
    if (owner == &graph) break;
    return graph.function(Cloner(graph).copy_function(*owner, name));
  }
  return graph.function(name);
}

}  // namespace

std::function<std::optional<Dim>(const SymbolPtr&)> SymbolMap::lookup() const {
  return [this](const SymbolPtr& s) -> std::optional<Dim> {
    const auto it = map_.find(s);
    return it == map_.end() ? std::nullopt : std::optional<Dim>(it->second);
  };
}

SymbolMap bind_symbols(const Function& function, const std::vector<ValueType>& operands) {
  SymbolMap map;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    const Shape& formal = function.inputs[i].shape();
    for (int axis = 0; axis < formal.rank(); ++axis) {
      if (const SymbolPtr s = formal[axis].as_symbol()) map.bind(s, operands[i].shape[axis]);
    }
  }
  return map;
}

SymbolMap bind_symbols(const Function& function, const std::vector<Value>& operands) {
  return bind_symbols(function, types_of(operands));
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
  {
    const Graph::Body building(graph, *function.body, label(function), loc);
    function.outputs = builder(*function.body, function.inputs);
  }
  check_closed(function, graph, label(function), loc);
  return graph.add_function(std::move(function), loc);
}

std::vector<Value> call(Graph& around, std::string_view function,
                        const std::vector<Value>& arguments, SourceLocation loc) {
  Graph& graph = around.building();
  const Function* f = nullptr;
  try {
    f = &visible_function(graph, std::string(function));
  } catch (const Error& e) {
    graph.fail(e, "call", arguments, loc);
  }
  Attributes attributes{{"body", f->name}};
  if (const std::int64_t count = stream_count(graph, *f); count > 0) {
    attributes.set("stream", graph.reserve_streams(count));
  }
  Node& node = graph.apply("call", arguments, std::move(attributes), loc);
  try {
    require_of_operands(graph, *f, types_of(node.inputs()), loc);
  } catch (const Error& error) {
    graph.fail(error, "call", arguments, loc);
  }
  std::vector<Value> outputs;
  for (int i = 0; i < node.output_count(); ++i) outputs.push_back(node.output(i));
  return outputs;
}

std::vector<Value> custom_gradient(Graph& around, std::string_view name,
                                   const std::vector<Value>& given, const FunctionBuilder& forward,
                                   const FunctionBuilder& gradient, SourceLocation loc) {
  Graph& graph = around.building();
  if (given.empty()) {
    throw GraphError(fmt::format("custom_gradient '{}' needs at least one argument\n  {}", name,
                                 graph.describe_source(loc)));
  }
  std::vector<Value> arguments;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const std::string what = fmt::format("custom_gradient '{}': argument {}", name, i);
    arguments.push_back(graph.capture(given[i], what, loc));
  }
  Function f;
  f.name = std::string(name);
  f.gradient = f.name + ".gradient";
  f.body = std::make_unique<Graph>(graph.shared_ops());
  f.inputs = declare_operands(graph, *f.body, arguments);
  copy_requirements(graph, *f.body);
  {
    const Graph::Body building(graph, *f.body, label(f), loc);
    f.outputs = forward(*f.body, f.inputs);
  }
  check_closed(f, graph, label(f), loc);

  Function b;
  b.name = f.gradient;
  b.body = std::make_unique<Graph>(graph.shared_ops());
  std::vector<Value> operands = f.inputs;
  operands.insert(operands.end(), f.outputs.begin(), f.outputs.end());
  operands.insert(operands.end(), f.outputs.begin(), f.outputs.end());  // cotangents
  b.inputs = declare_operands(*f.body, *b.body, operands);
  copy_requirements(*f.body, *b.body);
  {
    const Graph::Body building(graph, *b.body, label(b), loc);
    b.outputs = gradient(*b.body, b.inputs);
  }
  if (b.outputs.size() != arguments.size()) {
    throw GradientError(
        fmt::format("custom_gradient '{}': the gradient returns {} values, but there are {} "
                    "arguments\n  {}",
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
  check_closed(b, graph, label(b), loc);
  add_or_share(graph, std::move(b), loc);
  add_or_share(graph, std::move(f), loc);
  return call(graph, name, arguments, loc);
}

}  // namespace weft
