#include "weft/serialization/onnx/export/graph_export.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/autodiff/rule.h"
#include "weft/core/error.h"
#include "weft/core/overload.h"
#include "weft/serialization/onnx/export/node_export.h"
#include "weft/serialization/onnx/export/operators.h"
#include "weft/serialization/onnx/model_file.h"
#include "weft/serialization/onnx/tensors.h"

namespace weft::onnx {
namespace {

void set_attribute(onnx_proto::Node& node, const OnnxAttribute& from) {
  onnx_proto::Attribute& to = *node.add_attribute();
  to.set_name(std::string(from.name));
  std::visit(Overload{[&](std::int64_t v) {
                        to.set_type(onnx_proto::Attribute::INT);
                        to.set_i(v);
                      },
                      [&](double v) {
                        to.set_type(onnx_proto::Attribute::FLOAT);
                        to.set_f(static_cast<float>(v));
                      },
                      [&](std::string_view v) {
                        to.set_type(onnx_proto::Attribute::STRING);
                        to.set_s(std::string(v));
                      },
                      [&](const std::vector<std::int64_t>& v) {
                        to.set_type(onnx_proto::Attribute::INTS);
                        for (const std::int64_t i : v) to.add_ints(i);
                      }},
             from.value);
}

// Symbols of the bodies of loops are local to the body, so their names mean nothing elsewhere.
void set_type(onnx_proto::Value& value, const GraphExport::Port& port, bool symbols) {
  value.set_name(port.name);
  onnx_proto::TypeInfo::TensorType& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(number_of_dtype(port.type.dtype));
  type.mutable_shape();
  for (const Dim& dim : port.type.shape) {
    onnx_proto::Shape::Dimension& d = *type.mutable_shape()->add_dim();
    if (dim.is_constant()) {
      d.set_dim_value(dim.constant());
    } else if (symbols) {
      d.set_dim_param(dim.str());
    }
  }
}

// Returns "encoder/layer.0/attention/" for the scope "encoder.layer.0.attention".
std::string prefix_of(std::string_view scope) {
  std::string path;
  for (std::size_t i = 0; i < scope.size(); ++i) {
    const bool level =
        scope[i] == '.' && i + 1 < scope.size() && (scope[i + 1] < '0' || scope[i + 1] > '9');
    path += level ? '/' : scope[i];
  }
  return path.empty() ? path : path + "/";
}

}  // namespace

GraphExport::GraphExport(onnx_proto::Graph& graph, const VariableStore& store, std::int64_t opset)
    : graph_(graph), store_(store), opset_(opset), scopes_{{.graph = &graph}} {}

// -- Names ----------------------------------------------------------------------------------------

std::string GraphExport::unique(const std::string& name) {
  std::string result = name;
  while (!names_.emplace(result, 0).second) result = fmt::format("{}_{}", name, ++names_[name]);
  return result;
}

void GraphExport::fail(const Node& node, const std::string& reason) const {
  const Node& from = lowering_ > 0 ? *origin_ : node;
  const std::string part =
      &from == &node ? "" : fmt::format(" (in the definition of {})", from.op().name);
  throw ArgumentError(fmt::format("{}{} cannot be written to an ONNX file: {}\n  {}",
                                  node.op().name, part, reason, from.graph().where(from)));
}

onnx_proto::Node& GraphExport::add_node(std::string_view type, const Names& inputs,
                                        std::size_t outputs, const OnnxAttributes& attributes) {
  onnx_proto::Node& node = *scopes_.back().graph->add_node();
  const std::string prefix =
      origin_ == nullptr ? "" : prefix_of(origin_->graph().scope_of(*origin_));
  node.set_name(unique(prefix + std::string(type)));
  node.set_op_type(std::string(type));
  for (const std::string& name : inputs) node.add_input(name);
  while (node.input_size() > 0 && node.input(node.input_size() - 1).empty()) {
    node.mutable_input()->RemoveLast();
  }
  for (std::size_t i = 0; i < outputs; ++i) {
    node.add_output(unique(fmt::format("{}_output_{}", node.name(), i)));
    scopes_.back().outputs.insert(node.output(static_cast<int>(i)));
  }
  for (const OnnxAttribute& a : attributes) set_attribute(node, a);
  return node;
}

// -- Initialisers ---------------------------------------------------------------------------------

void GraphExport::add_initializer(const std::string& name, std::int32_t data_type,
                                  const Sizes& sizes, const Tensor& bytes, const char* mark) {
  OnnxInitializer& added = initializers_.emplace_back();
  added.header.set_name(name);
  added.header.set_data_type(data_type);
  added.header.set_doc_string(mark);
  for (const std::int64_t size : sizes) added.header.add_dims(size);
  added.data = bytes;
}

std::string GraphExport::constant(const Tensor& value) {
  std::string key = fmt::format("{}{}", dtype_name(value.dtype()), to_string(value.sizes()));
  key.append(reinterpret_cast<const char*>(value.raw()), value.bytes());
  const auto [at, is_new] = constants_.emplace(std::move(key), "");
  if (is_new) {
    at->second = unique("constant");
    add_initializer(at->second, number_of_dtype(value.dtype()), value.sizes(), value,
                    kConstantMark);
  }
  return at->second;
}

// Reserves the name.
std::string GraphExport::variable(const Node& read) {
  const VariableInfo& info = read.graph().variable_info(read);
  if (info.kind == VariableKind::cache) {
    fail(read,
         fmt::format("'{}' is a cache: write the program that computes all positions at once, "
                     "or pass keys and values as inputs",
                     info.name));
  }
  const std::string name = unique(info.name);
  unread_[name] = &read;
  return name;
}

const std::string& GraphExport::read(const std::string& name) {
  const auto found = unread_.find(name);
  if (found == unread_.end()) return name;
  const Node& node = *found->second;
  const VariableInfo& info = node.graph().variable_info(node);
  const Tensor value = store_.tensor(info.name);
  add_initializer(name, number_of_dtype(value.dtype()), value.sizes(), value,
                  info.kind != VariableKind::parameter ? kBufferMark
                  : info.trainable                     ? kParameterMark
                                                       : kFrozenMark);
  unread_.erase(found);
  return name;
}

std::string GraphExport::repacked(const std::string& name, std::int32_t data_type,
                                  const Sizes& sizes, const Tensor& bytes) {
  const auto [at, is_new] = repacked_.emplace(name, name);
  if (!is_new) return at->second;
  if (unread_.erase(name) == 0) at->second = unique(name);
  add_initializer(at->second, data_type, sizes, bytes, kBufferMark);
  return at->second;
}

// -- Sizes ----------------------------------------------------------------------------------------

std::string GraphExport::size_node(std::string_view type, const Names& inputs,
                                   const OnnxAttributes& attributes) {
  const std::string key = fmt::format("{} {}", type, fmt::join(inputs, " "));
  for (const Scope& scope : scopes_) {
    if (const auto found = scope.sizes.find(key); found != scope.sizes.end()) return found->second;
  }
  return scopes_.back().sizes[key] = add_node(type, inputs, 1, attributes).output(0);
}

void GraphExport::bind(const std::string& name, const Shape& shape) {
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (const SymbolPtr symbol = shape[axis].as_symbol()) symbols_[symbol.get()] = {name, axis};
  }
}

std::string GraphExport::size_of_symbol(const Symbol& symbol) {
  const auto found = symbols_.find(&symbol);
  if (found != symbols_.end()) {
    const auto& [name, axis] = found->second;
    return size_node("Gather",
                     {size_node("Shape", {name}), constant(Tensor::of<std::int64_t>({1}, {axis}))});
  }
  const auto is_bound = [&](const Dim& dim) {
    const std::vector<SymbolPtr> all = dim.symbols();
    return std::all_of(all.begin(), all.end(),
                       [&](const SymbolPtr& s) { return symbols_.count(s.get()) != 0; });
  };
  for (const DimEquation& e : requirements_) {
    for (const auto& [left, right] : {std::pair(e.left, e.right), std::pair(e.right, e.left)}) {
      if (left.as_symbol().get() == &symbol && is_bound(right)) return size(right);
    }
  }
  fail(*origin_, fmt::format("the size '{}' is not the size of an axis of any input of the program",
                             symbol.name));
}

std::string GraphExport::floor_quotient(const Dim& a, const Dim& b) {
  const std::string x = size(a), y = size(b);
  if (Dim::provably_le(0, a) && Dim::provably_le(0, b)) return size_node("Div", {x, y});
  // Div rounds towards 0, and Mod has the sign of the divisor.
  return size_node("Div", {size_node("Sub", {x, size_node("Mod", {x, y})}), y});
}

std::string GraphExport::size_of_atom(const Atom& atom) {
  switch (atom.kind) {
    case AtomKind::symbol: return size_of_symbol(*atom.symbol);
    case AtomKind::floor_div: return floor_quotient(atom.operands[0], atom.operands[1]);
    case AtomKind::min:
    case AtomKind::max: break;
  }
  Names operands;
  for (const Dim& dim : atom.operands) operands.push_back(size(dim));
  return size_node(atom.kind == AtomKind::min ? "Min" : "Max", operands);
}

std::string GraphExport::size(const Dim& dim) {
  if (dim.is_constant()) return constant(Tensor::of<std::int64_t>({1}, {dim.constant()}));
  std::string sum;
  for (const Term& term : DimBuilder::terms(dim)) {
    std::string product;
    const auto multiply = [&](const std::string& x) {
      product = product.empty() ? x : size_node("Mul", {product, x});
    };
    for (const Factor& factor : term.factors) {
      for (int i = 0; i < factor.exponent; ++i) multiply(size_of_atom(*factor.atom));
    }
    if (term.coefficient != 1 || product.empty()) multiply(size(term.coefficient));
    sum = sum.empty() ? product : size_node("Add", {sum, product});
  }
  return sum;
}

std::string GraphExport::sizes(const std::vector<Dim>& dims) {
  Names parts;
  std::vector<std::int64_t> numbers;
  const auto flush = [&] {
    if (numbers.empty() && !(parts.empty() && dims.empty())) return;
    const auto count = static_cast<std::int64_t>(numbers.size());
    parts.push_back(constant(Tensor::of<std::int64_t>({count}, numbers)));
    numbers.clear();
  };
  for (const Dim& dim : dims) {
    if (dim.is_constant()) {
      numbers.push_back(dim.constant());
      continue;
    }
    flush();
    parts.push_back(size(dim));
  }
  flush();
  return parts.size() == 1 ? parts[0] : size_node("Concat", parts, {{"axis", std::int64_t{0}}});
}

// -- Nodes ----------------------------------------------------------------------------------------

Names GraphExport::translate(ExportFrame& frame, Node& node) {
  const std::string& op = node.op().name;
  if (op == "input") fail(node, "it is an input of another graph");
  if (op == "variable") return {variable(node)};
  if (op == "constant") return {constant(node.attributes().tensor("value"))};
  const NodeExport view(*this, frame, node);
  if (const Exporter* exporter = find_exporter(op)) {
    return std::visit(
        Overload{[&](std::string_view type) { return Names{view.add_elementwise(type)}; },
                 [&](ExportFunction function) { return function(view); },
                 [&](Lowering build) { return view.lower(build); }},
        exporter->how);
  }
  Decomposition definition = node.op().definition;
  if (!definition) definition = builtin_rules().definition(op);
  if (definition) return view.lower(definition);
  if (node.op().has(Trait::random) &&
      node.input(static_cast<std::size_t>(node.op().input_index("key"))).defined()) {
    fail(node, "it draws random numbers");
  }
  if (node.op().has(Trait::collective)) fail(node, "it communicates with other processes");
  fail(node, "ONNX has no such operator");
}

void GraphExport::add_value(ExportFrame& frame, Node& node) {
  if (frame.names.count(node.output(0)) != 0) return;  // an operand of a function
  const Node* const before = origin_;
  if (lowering_ == 0) origin_ = &node;
  const Names names = translate(frame, node);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) frame.names[node.output(static_cast<int>(i))] = names[i];
  }
  origin_ = before;
}

Names GraphExport::add_values(ExportFrame& frame, const std::vector<Value>& roots) {
  const std::vector<Node*> nodes = reachable_nodes(roots);
  const auto use = [&](const Value& v) {
    if (v.defined()) frame.used.insert({v.node_pointer(), v.output()});
  };
  for (const Value& v : roots) use(v);
  for (const Node* node : nodes) {
    for (const Value& v : node->inputs()) use(v);
  }
  for (Node* node : nodes) add_value(frame, *node);
  Names names;
  for (const Value& v : roots) names.push_back(read(frame.names.at(v)));
  return names;
}

Names GraphExport::add_function(const Function& function, const Names& operands) {
  const auto symbols = symbols_;
  ExportFrame frame;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    frame.names[function.inputs[i]] = operands[i];
    bind(operands[i], function.inputs[i].shape());
  }
  Names names = add_values(frame, function.outputs);
  symbols_ = symbols;
  return names;
}

std::string GraphExport::own_output(const std::string& name, std::set<std::string>& taken) {
  const bool own = scopes_.back().outputs.count(name) != 0 && taken.insert(name).second;
  return own ? name : add_node("Identity", {name}, 1, {}).output(0);
}

void GraphExport::add_subgraph(onnx_proto::Graph& graph, const std::vector<Port>& inputs,
                               const std::function<std::vector<Port>()>& build) {
  graph.set_name(unique("body"));
  for (const Port& port : inputs) set_type(*graph.add_input(), port, false);
  scopes_.push_back({.graph = &graph});
  std::vector<Port> outputs = build();
  std::set<std::string> taken;
  for (Port& port : outputs) {
    port.name = own_output(port.name, taken);
    set_type(*graph.add_output(), port, false);
  }
  scopes_.pop_back();
}

// -- Programs -------------------------------------------------------------------------------------

void GraphExport::rename(onnx_proto::Graph& graph,
                         const std::map<std::string, std::string>& names) const {
  const auto apply = [&](std::string& name) {
    if (const auto found = names.find(name); found != names.end()) name = found->second;
  };
  for (onnx_proto::Node& node : *graph.mutable_node()) {
    for (std::string& name : *node.mutable_input()) apply(name);
    for (std::string& name : *node.mutable_output()) apply(name);
    for (onnx_proto::Attribute& a : *node.mutable_attribute()) {
      if (a.has_g()) rename(*a.mutable_g(), names);
    }
  }
}

void GraphExport::add_program(const Program& program) {
  Graph& source = *program.graph();
  requirements_ = source.requirements();
  ExportFrame frame;
  for (const Value& v : program.inputs()) {
    const std::string& name = v.node().attributes().text("name");
    frame.names[v] = unique(name);
    bind(name, v.shape());
    set_type(*graph_.add_input(), {name, v.type()}, true);
  }
  for (const auto& [name, value] : program.outputs()) {
    if (unique(name) != name) {
      throw ArgumentError(fmt::format(
          "program '{}': output '{}' has the name of an input, which an ONNX file cannot express",
          program.name(), name));
    }
  }
  std::vector<Value> roots;
  for (const auto& [name, value] : program.outputs()) roots.push_back(value);
  const std::vector<Node*> nodes = reachable_nodes(roots);
  for (const Node* node : nodes) {
    for (const Value& v : node->inputs()) {
      if (!v.defined() || v.node().op().name != "variable") continue;
      const VariableInfo& info = source.variable_info(v.node());
      if (info.kind != VariableKind::key) continue;
      fail(*node, fmt::format("it draws random numbers from the key '{}'", info.name));
    }
  }
  // Variables keep their names, so their names are taken before those of other values.
  for (Node* node : nodes) {
    if (node->op().name == "variable") add_value(frame, *node);
  }
  add_values(frame, roots);

  std::map<std::string, std::string> names;
  for (const auto& [name, value] : program.outputs()) {
    std::string& from = frame.names.at(value);
    const bool own = scopes_[0].outputs.count(from) != 0 && names.emplace(from, name).second;
    if (!own) add_node("Identity", {from}, 1, {}).set_output(0, name);
    set_type(*graph_.add_output(), {name, value.type()}, true);
  }
  for (const auto& [name, value] : source.names()) {
    const auto found = frame.names.find(value);
    if (found != frame.names.end() && scopes_[0].outputs.count(found->second) != 0 &&
        names_.count(name) == 0) {
      names.emplace(found->second, name);
    }
  }
  rename(graph_, names);
}

}  // namespace weft::onnx
