// Type inference for the outputs of ops in a graph, including calls of functions.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "weft/graph/ir/graph.h"

namespace weft {
namespace {

std::vector<ValueType> infer_call(const Function& function,
                                  const std::vector<const ValueType*>& inputs,
                                  const DimFacts& facts) {
  if (inputs.size() != function.inputs.size()) {
    throw ArgumentError(fmt::format("function '{}' takes {} operands, got {}", function.name,
                                    function.inputs.size(), inputs.size()));
  }
  // Symbols of the body are local to it: an axis whose size is a single symbol binds the symbol to
  // the caller's dim.
  std::map<SymbolPtr, Dim> bound;
  const auto lookup = [&](const SymbolPtr& s) -> std::optional<Dim> {
    const auto it = bound.find(s);
    return it == bound.end() ? std::nullopt : std::optional<Dim>(it->second);
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueType& formal = function.inputs[i].type();
    const std::string& name = function.inputs[i].node().attributes().text("name");
    if (inputs[i] == nullptr) {
      throw ArgumentError(
          fmt::format("function '{}': operand '{}' is missing", function.name, name));
    }
    const ValueType& actual = *inputs[i];
    if (formal.dtype != actual.dtype) {
      throw DTypeError(fmt::format("function '{}': operand '{}' must be {}, but is {}",
                                   function.name, name, formal.str(), actual.str()));
    }
    if (formal.shape.rank() != actual.shape.rank()) {
      throw ShapeError(fmt::format("function '{}': operand '{}' must be {}, but is {}",
                                   function.name, name, formal.str(), actual.str()));
    }
    for (int axis = 0; axis < formal.shape.rank(); ++axis) {
      if (const SymbolPtr s = formal.shape[axis].as_symbol()) bound.emplace(s, actual.shape[axis]);
    }
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ValueType& formal = function.inputs[i].type();
    for (int axis = 0; axis < formal.shape.rank(); ++axis) {
      const Dim wanted = formal.shape[axis].substitute(lookup);
      if (!facts.equal(wanted, inputs[i]->shape[axis])) {
        throw ShapeError(fmt::format("function '{}': axis {} of operand '{}' must be {}, but is {}",
                                     function.name, axis,
                                     function.inputs[i].node().attributes().text("name"),
                                     wanted.str(), inputs[i]->shape[axis].str()));
      }
    }
  }
  std::vector<ValueType> outputs;
  for (const Value& v : function.outputs) {
    for (const Dim& d : v.shape()) {
      for (const SymbolPtr& s : d.symbols()) {
        if (bound.count(s) != 0) continue;
        throw ShapeError(
            fmt::format("function '{}': output size {} uses symbol '{}', but no input axis has "
                        "exactly this symbol as its size",
                        function.name, d.str(), s->name));
      }
    }
    outputs.push_back({v.dtype(), v.shape().substitute(lookup)});
  }
  return outputs;
}

class FunctionTypes : public BodyTypes {
 public:
  explicit FunctionTypes(const Graph& graph) : graph_(graph) {}
  std::vector<ValueType> outputs(const std::string& name,
                                 const std::vector<const ValueType*>& operands) const override {
    return infer_call(graph_.function(name), operands, graph_.facts());
  }

 private:
  const Graph& graph_;
};

}  // namespace

std::vector<ValueType> infer_types(const Graph& graph, const OpRecord& op,
                                   const std::vector<Value>& inputs, const Attributes& attributes) {
  const bool variadic = !op.inputs.empty() && op.inputs.back().arity == Arity::variadic;
  std::vector<const ValueType*> types(
      variadic ? inputs.size() : std::max(inputs.size(), op.inputs.size()), nullptr);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].defined()) types[i] = &inputs[i].type();
  }
  const FunctionTypes bodies(graph);
  return op.infer(
      InferContext(op.name, std::move(types), attributes, graph.facts(), &graph.ops(), &bodies));
}

}  // namespace weft
