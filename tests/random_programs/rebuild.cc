#include "weft/tests/random_programs/rebuild.h"

#include <algorithm>
#include <unordered_map>

#include "weft/core/error.h"
#include "weft/tests/reference/scalar_ops.h"

namespace weft::testing {
namespace {

/// Returns the first elements of a tensor along every axis.
Tensor first_of(const Tensor& t, const Sizes& sizes, std::int64_t integers_below = 0) {
  NumberTensor part{t.dtype(), sizes, {}};
  const Sizes strides = row_major_strides(t.sizes());
  for (std::int64_t i = 0; i < num_elements(sizes); ++i) {
    std::int64_t from = 0, rest = i;
    for (std::size_t a = sizes.size(); a-- > 0; rest /= sizes[a]) {
      if (sizes[a] > t.sizes()[a]) throw ShapeError("rebuilt: a size would grow");
      from += rest % sizes[a] * strides[a];
    }
    Number n = element(t, from);
    const bool index = t.dtype() == DType::i64 || t.dtype() == DType::i32;
    if (index && integers_below > 0 && n.integer >= integers_below)
      n = number_of_integer(integers_below - 1);
    part.elements.push_back(n);
  }
  return to_tensor(part);
}

Bindings bindings_of(const CaseRun& run, const Graph& graph) {
  Bindings bindings;
  for (const SymbolPtr& s : graph.symbols()) {
    for (const auto& [name, size] : run.dims) {
      if (name == s->name) bindings.bind(s, size);
    }
  }
  return bindings;
}

class Rebuilder {
 public:
  Rebuilder(const Case& c, const Rebuilding& what) : c_(c), what_(what) {}

  Case run() {
    const Program& program = c_.module.program;
    const Graph& source = *program.graph();
    if (!source.functions().empty())
      throw GraphError("rebuilt: programs with functions are not supported");
    Case result{{std::make_unique<Graph>(source.shared_ops()), Program(program.name())}, {}, {}};
    Graph& target = *result.module.graph;
    target.share_symbols(source);
    for (const DimEquation& e : source.requirements()) target.require(e);
    result.module.program.take_options(program);
    result.variables = c_.variables;
    result.runs = c_.runs;
    for (Node* node : program.nodes()) copy(*node, result);
    for (const auto& [name, value] : program.outputs())
      result.module.program.output(name, map_.at(value));
    for (const auto& [variable, value] : program.given_updates()) {
      // A variable that is not read is not among the nodes of the program.
      if (!map_.contains(variable.value())) copy(variable.value().node(), result);
      result.module.program.update(Variable(map_.at(variable.value())), map_.at(value));
    }
    return result;
  }

 private:
  Dim renamed(const Dim& d) const { return d.is_constant() ? Dim(what_.size(d.constant())) : d; }
  Shape renamed(const Shape& shape) const {
    Shape result;
    for (const Dim& d : shape) result.push_back(renamed(d));
    return result;
  }

  void copy(Node& node, Case& result) {
    Graph& target = *result.module.graph;
    const std::string& op = node.op().name;
    const ValueType type{node.type(0).dtype, renamed(node.type(0).shape)};
    if (op == "input") {
      const std::string name = node.attributes().text("name");
      for (CaseRun& run : result.runs) {
        const Bindings bindings = bindings_of(run, *c_.module.graph);
        for (auto& [key, tensor] : run.feeds) {
          if (key == name)
            tensor = first_of(tensor, type.shape.evaluate(bindings), what_.integers_below);
        }
      }
      map_[node.output(0)] = target.input(name, type);
      return;
    }
    if (op == "variable") {
      const VariableInfo& info = node.graph().variable_info(node);
      for (auto& [key, tensor] : result.variables) {
        if (key == info.name && info.kind != VariableKind::key)
          tensor = first_of(tensor, type.shape.constant(), what_.integers_below);
      }
      map_[node.output(0)] = info.kind == VariableKind::key
                                 ? target.key(info.name).value()
                                 : target.variable(info.name, type, {.kind = info.kind}).value();
      return;
    }
    if (op == "constant") {
      map_[node.output(0)] = target.constant(
          first_of(node.attributes().tensor("value"), type.shape.constant(), what_.integers_below));
      return;
    }
    std::vector<Value> inputs;
    for (const Value& v : node.inputs()) inputs.push_back(v.defined() ? map_.at(v) : Value());
    Attributes attributes = node.attributes();
    for (const auto& [name, value] : node.attributes()) {
      if (const Dim* d = std::get_if<Dim>(&value)) attributes.set(name, renamed(*d));
      if (const Shape* s = std::get_if<Shape>(&value)) attributes.set(name, renamed(*s));
    }
    Node& made =
        target.apply(node.op(), std::move(inputs), what_.attributes(node, std::move(attributes)));
    for (int o = 0; o < node.output_count(); ++o) map_[node.output(o)] = made.output(o);
  }

  const Case& c_;
  const Rebuilding& what_;
  std::unordered_map<Value, Value, ValueHash> map_;
};

}  // namespace

Case rebuilt(const Case& c, const Rebuilding& what) { return Rebuilder(c, what).run(); }

Case with_dims(const Case& c, std::size_t run, const DimValues& dims) {
  Case smaller = c.clone();
  smaller.runs[run].dims = dims;
  return rebuilt(smaller, {});
}

}  // namespace weft::testing
