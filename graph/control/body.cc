#include "weft/graph/control/body.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "weft/core/error.h"
#include "weft/graph/functions/random/random.h"
#include "weft/graph/ir/clone.h"
#include "weft/graph/ir/difference.h"
#include "weft/graph/ir/draws.h"

namespace weft {
namespace {

using Index = std::size_t;

bool has_symbols(const Graph& graph, const Dim& dim) {
  const auto symbols = dim.symbols();
  return std::all_of(symbols.begin(), symbols.end(), [&](const SymbolPtr& s) {
    const auto& known = graph.symbols();
    return std::find(known.begin(), known.end(), s) != known.end();
  });
}

// Returns the numbers of the inputs that the outputs are computed from. Throws GraphError if the
// callback has declared another input.
std::vector<Index> read_inputs(const Function& function, std::string_view what) {
  std::vector<Index> read;
  for (const Node* n : reachable_nodes(function.outputs)) {
    if (n->op().name != "input") continue;
    const auto at = std::find_if(function.inputs.begin(), function.inputs.end(),
                                 [&](const Value& v) { return v.node_pointer() == n; });
    if (at == function.inputs.end()) {
      throw GraphError(
          fmt::format("input '{}' is declared in {}: declare it in the graph around "
                      "it\n  {}",
                      n->attributes().text("name"), what, function.body->where(*n)));
    }
    read.push_back(static_cast<Index>(at - function.inputs.begin()));
  }
  return read;
}

// Returns the symbols that the body uses and that are not the full size of an axis of a kept input.
std::vector<SymbolPtr> unbound_symbols(const Function& function, const std::vector<bool>& kept) {
  std::set<SymbolPtr> seen;
  std::vector<SymbolPtr> unbound;
  for (Index i = 0; i < function.inputs.size(); ++i) {
    if (!kept[i]) continue;
    for (const Dim& d : function.inputs[i].shape()) {
      if (const SymbolPtr s = d.as_symbol()) seen.insert(s);
    }
  }
  const auto use = [&](const Shape& shape) {
    for (const Dim& d : shape) {
      if (d.is_constant()) continue;
      for (const SymbolPtr& s : d.symbols()) {
        if (seen.insert(s).second) unbound.push_back(s);
      }
    }
  };
  for (Index i = 0; i < function.inputs.size(); ++i) {
    if (kept[i]) use(function.inputs[i].shape());
  }
  for (const Node* n : reachable_nodes(function.outputs)) {
    for (const auto& [name, value] : n->attributes()) {
      if (const Dim* d = std::get_if<Dim>(&value)) use({*d});
      if (const Shape* s = std::get_if<Shape>(&value)) use(*s);
    }
    for (int o = 0; o < n->output_count(); ++o) use(n->type(o).shape);
  }
  return unbound;
}

}  // namespace

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

BodyBuilder::BodyBuilder(Graph& graph, std::vector<ValueType> types, std::vector<std::string> names,
                         Graph::Captures captures, SourceLocation loc)
    : graph_(graph),
      types_(std::move(types)),
      names_(std::move(names)),
      captures_(std::move(captures)),
      loc_(loc) {}

BodyBuilder::~BodyBuilder() {
  for (Building& b : bodies_) graph_.keep_body(std::move(b.function.body));
}

void BodyBuilder::build(std::string name, const std::string& what,
                        const FunctionBuilder& callback) {
  Function& f = bodies_.emplace_back(Building{{}, what}).function;
  f.name = std::move(name);
  f.body = std::make_unique<Graph>(graph_.shared_ops());
  const Graph::Body building(graph_, *f.body, what, loc_, &captures_);
  for (Index i = 0; i < types_.size(); ++i) {
    f.inputs.push_back(f.body->input(names_[i], types_[i], {}));
  }
  f.outputs = callback(*f.body, f.inputs);
  if (f.outputs.empty()) {
    throw GraphError(fmt::format("{} has no outputs\n  {}", what, graph_.describe_source(loc_)));
  }
  for (Index i = 0; i < f.outputs.size(); ++i) {
    f.outputs[i] = f.body->capture(f.outputs[i], fmt::format("output {} of {}", i, what), loc_);
  }
}

void BodyBuilder::add_captures() {
  for (Building& b : bodies_) {
    Graph& body = *b.function.body;
    const Graph::Body building(graph_, body, b.what, loc_, &captures_);
    while (b.function.inputs.size() < types_.size() + captures_.values.size()) {
      const Value outer = captures_.values[b.function.inputs.size() - types_.size()];
      b.function.inputs.push_back(body.capture(outer, b.what, loc_));
    }
  }
}

BodyBuilder::Result BodyBuilder::finish(std::vector<bool> removable, std::optional<Index> step) {
  add_captures();
  const Index count = types_.size() + captures_.values.size();
  removable.resize(count, true);
  std::vector<bool> kept(count, false);
  for (Index i = 0; i < count; ++i) kept[i] = !removable[i];
  for (const Building& b : bodies_) {
    const Function& f = b.function;
    for (const Index i : read_inputs(f, b.what)) kept[i] = true;
    if (step) {
      for (const bool drawn : drawn_keys(f, *step + 1)) kept[*step] = kept[*step] || drawn;
    }
  }
  // A plan binds symbols to the sizes of operands, so each symbol must be the full size of an axis.
  std::vector<SymbolPtr> unbound;
  for (const Building& b : bodies_) {
    for (const SymbolPtr& s : unbound_symbols(b.function, kept)) {
      if (std::find(unbound.begin(), unbound.end(), s) == unbound.end()) unbound.push_back(s);
    }
  }
  Result result;
  result.kept.assign(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(types_.size()));
  for (Index i = types_.size(); i < count; ++i) {
    if (kept[i]) result.operands.push_back(captures_.values[i - types_.size()]);
  }
  std::vector<Value> sizes;
  for (const SymbolPtr& s : unbound) {
    const Value none = graph_.constant(Tensor::zeros(DType::i32, {}), loc_);
    sizes.push_back(
        graph_.apply("broadcast_to", {none}, {{"shape", Shape{Dim(s), Dim(0)}}}, loc_).output(0));
  }
  result.operands.insert(result.operands.end(), sizes.begin(), sizes.end());
  for (const Building& b : bodies_) result.bodies.push_back(completed(b, kept, sizes, step));
  return result;
}

// Copies the body without unused nodes, so that it has only the symbols that its inputs bind.
Function BodyBuilder::completed(const Building& from, const std::vector<bool>& kept,
                                const std::vector<Value>& sizes, std::optional<Index> step) {
  const Function& f = from.function;
  Function to;
  to.name = f.name;
  to.body = std::make_unique<Graph>(graph_.shared_ops());
  Graph& body = *to.body;
  std::vector<DimEquation> outside;
  {
    const Graph::Body building(graph_, body, from.what, loc_, &captures_);
    Cloner inputs(body), cloner(body);
    const std::vector<bool> keys =
        step ? drawn_keys(f, *step + 1) : std::vector<bool>(f.inputs.size(), false);
    for (Index i = 0; i < f.inputs.size(); ++i) {
      if (!kept[i]) continue;
      to.inputs.push_back(inputs.copy(f.inputs[i]));
      cloner.set(f.inputs[i], to.inputs.back());
    }
    for (Index i = 0; i < f.inputs.size(); ++i) {
      if (!keys[i]) continue;
      const Value key = inputs.find(f.inputs[i]);
      cloner.set(f.inputs[i], fold_key(key, inputs.find(f.inputs[*step])));
    }
    for (Index i = 0; i < sizes.size(); ++i) {
      const Index number = captures_.first + captures_.values.size() + i;
      to.inputs.push_back(
          body.input(fmt::format("{}{}", captures_.name, number), sizes[i].type(), {}));
    }
    for (const DimEquation& e : f.body->requirements()) {
      const bool known = has_symbols(body, e.left) && has_symbols(body, e.right);
      known ? body.require(e, loc_) : outside.push_back(e);
    }
    for (const Value& v : f.outputs) to.outputs.push_back(cloner.copy(v));
  }
  for (const DimEquation& e : outside) graph_.require(e, loc_);
  return to;
}

std::vector<bool> drawn_keys(const Function& function, Index first) {
  std::vector<bool> drawn(function.inputs.size(), false);
  for (const Index i : random_key_inputs(function)) {
    drawn[i] = i >= first && function.inputs[i].type() == ValueType{DType::i64, {2}};
  }
  return drawn;
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
  read_inputs(function, what);
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
