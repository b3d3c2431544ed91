#include "weft/graph/ir/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "weft/core/closest.h"
#include "weft/core/excerpt.h"
#include "weft/core/integer_range.h"
#include "weft/core/option.h"
#include "weft/graph/ir/draws.h"
#include "weft/graph/ir/facts.h"

namespace weft {
namespace {

std::size_t node_hash(const OpRecord& op, const Attributes& attributes,
                      const std::vector<Value>& inputs, std::uint32_t instance) {
  std::size_t h = std::hash<const void*>{}(&op) ^ (attributes.hash() * 0x9E3779B97F4A7C15ull);
  for (const Value& v : inputs) h = h * 1099511628211ull + ValueHash{}(v);
  return h * 31 + instance;
}

/// Describes a number that an initializer does not accept; "" if all are valid. A constant may be
/// any number.
std::string initializer_error(const Initializer& initializer) {
  switch (initializer.kind) {
    case Initializer::Kind::constant:
    case Initializer::Kind::key: return "";
    case Initializer::Kind::uniform:
      if (initializer.a <= initializer.b && std::isfinite(initializer.b - initializer.a)) return "";
      return fmt::format(
          "low must be at most high, and both must be finite, but they are {} and {}",
          initializer.a, initializer.b);
    case Initializer::Kind::normal:
    case Initializer::Kind::truncated_normal: break;
  }
  const std::string error = option_error("std", initializer.b, Allowed::not_negative);
  return error.empty() ? option_error("mean", initializer.a, Allowed::finite) : error;
}

}  // namespace

const Dim& Value::size(int axis) const { return shape()[normalize_axis(axis, rank())]; }

Graph::Graph(std::shared_ptr<const OpSet> ops)
    : ops_(std::move(ops)), facts_(std::make_unique<Facts>()) {}
Graph::~Graph() = default;

const DimFacts& Graph::facts() const { return *facts_; }

// -- Declarations ---------------------------------------------------------------------------------

Dim Graph::dim(std::string_view name) {
  if (SymbolPtr known = find_symbol(name)) return Dim(std::move(known));
  if (Graph* outer = enclosing()) {
    const Dim shared = outer->dim(name);
    import_symbol(shared.as_symbol());
    return shared;
  }
  if (name.empty()) throw ArgumentError("a dim needs a name");
  if (!Dim::is_symbol_name(name)) {
    throw ArgumentError(
        fmt::format("\"{}\" cannot be the name of a dim: names consist of letters, digits and "
                    "\"_./\", and do not begin with a digit; write computed sizes as expressions "
                    "of Graph::dim(...)",
                    excerpt(name)));
  }
  add_symbol(std::make_shared<const Symbol>(Symbol{std::string(name)}));
  return Dim(symbols_.back());
}

SymbolPtr Graph::find_symbol(std::string_view name) const {
  const auto [begin, end] = symbol_index_.equal_range(name);
  const auto first = std::min_element(
      begin, end, [](const auto& a, const auto& b) { return a.second < b.second; });
  return first == end ? nullptr : symbols_[first->second];
}

void Graph::share_symbols(const Graph& other) {
  for (const SymbolPtr& s : other.symbols_) {
    if (!has_symbol(s)) add_symbol(s);
  }
}

bool Graph::has_symbol(const SymbolPtr& symbol) const {
  const auto [begin, end] = symbol_index_.equal_range(symbol->name);
  return std::any_of(begin, end,
                     [&](const auto& entry) { return symbols_[entry.second] == symbol; });
}

void Graph::add_symbol(const SymbolPtr& symbol) {
  symbol_index_.emplace(symbol->name, symbols_.size());
  symbols_.push_back(symbol);
}

Dim Graph::resolve(const AxisSize& size) {
  if (const auto* name = std::get_if<std::string>(&size.value())) return dim(*name);
  return std::get<Dim>(size.value());
}

ValueType Graph::declared_type(DType dtype, std::initializer_list<AxisSize> sizes) {
  Shape shape;
  for (const AxisSize& s : sizes) shape.push_back(resolve(s));
  return {dtype, std::move(shape)};
}

Value Graph::input(std::string_view name, DType dtype, std::initializer_list<AxisSize> sizes,
                   SourceLocation loc) {
  return input(name, declared_type(dtype, sizes), loc);
}

Value Graph::input(std::string_view name, const ValueType& type, SourceLocation loc) {
  if (name.empty() || find_input(name).defined()) {
    throw GraphError(
        fmt::format("input '{}': {}\n  {}", name,
                    name.empty() ? "an input needs a name" : "an input of this name already exists",
                    describe_source(loc)));
  }
  check_type(type, fmt::format("input '{}'", name), loc);
  return add_input(name, type, loc);
}

Value Graph::add_input(std::string_view name, const ValueType& type, SourceLocation loc) {
  const Value v = add_leaf("input", name, type, loc);
  input_index_.emplace(std::string(name), inputs_.size());
  inputs_.push_back(v);
  return v;
}

Value Graph::add_leaf(std::string_view op, std::string_view name, const ValueType& type,
                      SourceLocation loc) {
  return add(ops_->at(op), {},
             {{"name", std::string(name)}, {"dtype", type.dtype}, {"shape", type.shape}}, loc)
      .output(0);
}

Value Graph::constant(Tensor value, SourceLocation loc) {
  if (!value.defined()) throw ArgumentError("constant: the tensor is undefined");
  return apply("constant", {}, {{"value", std::move(value)}}, loc).output(0);
}

Value Graph::scalar(DType dtype, double value, SourceLocation loc) {
  try {
    check_representable(value, dtype);
  } catch (const Error& error) {
    fail(error, "constant", {}, loc);
  }
  const Tensor rounded = Tensor::scalar(dtype, value);
  const Value result = constant(rounded, loc);
  if (is_floating(dtype) && std::isfinite(value) && rounded.at(0) != value) {
    result.graph().unrounded_.emplace(result.node().id(), value);
  }
  return result;
}

Variable Graph::variable(std::string_view name, DType dtype, std::initializer_list<AxisSize> sizes,
                         VariableOptions options, SourceLocation loc) {
  return variable(name, declared_type(dtype, sizes), options, loc);
}

Variable Graph::variable(std::string_view name, const ValueType& type, VariableOptions options,
                         SourceLocation loc) {
  const std::string what = fmt::format("variable '{}'", name);
  if (name.empty()) {
    throw GraphError(fmt::format("a variable needs a name\n  {}", describe_source(loc)));
  }
  if (open_) {
    throw GraphError(fmt::format(
        "{} cannot be declared in {}: declare it in the graph around it, for example with a Scope "
        "of that graph, and {}\n  {}",
        what, body_name_, captures_ != nullptr ? "use it in the body" : "pass it as an operand",
        describe_source(loc)));
  }
  if (has_variable(name)) {
    throw GraphError(fmt::format(
        "{}: a variable or alias of this name already exists; choose another name or scope; to "
        "share it, use the first Variable (for a layer, call make_linear() once and apply the "
        "result several times); to add another name for it, use Graph::alias\n  {}",
        what, describe_source(loc)));
  }
  check_type(type, what, loc);
  if (options.kind != VariableKind::cache && !type.shape.is_constant()) {
    throw ShapeError(fmt::format(
        "{}: shape {} is symbolic; only variables of kind cache may have symbolic sizes\n  {}",
        what, type.shape.str(), describe_source(loc)));
  }
  if (options.initializer.kind == Initializer::Kind::constant) {
    try {
      check_representable(options.initializer.a, type.dtype);
    } catch (const Error& error) {
      fail(error, what + ", initial value", {}, loc);
    }
  }
  // The bounds of an initializer that depend on a size may be infinite if there are no elements.
  if (!type.shape.is_constant() || num_elements(type.shape.constant()) > 0) {
    const std::string error = initializer_error(options.initializer);
    if (!error.empty()) fail(ArgumentError(error), what + ", initializer", {}, loc);
  }
  const Value read = add_leaf("variable", name, type, loc);
  variable_index_.emplace(std::string(name), variables_.size());
  variable_of_read_.emplace(&read.node(), variables_.size());
  variable_reads_.push_back(&read.node());
  variables_.push_back({std::string(name),
                        options.kind,
                        options.trainable && options.kind == VariableKind::parameter,
                        type,
                        options.initializer,
                        {}});
  const bool advances = options.kind == VariableKind::key && type == ValueType{DType::i64, {2}} &&
                        ops_->find("key_advance") != nullptr;
  advanced_keys_.push_back(advances ? add(ops_->at("key_advance"), {read}, {}, loc).output(0)
                                    : Value());
  return Variable(read);
}

void Graph::alias(std::string_view name, Variable variable, SourceLocation loc) {
  check_owned(variable.value(), "alias", loc);
  if (&variable.graph() != this) return variable.graph().alias(name, variable, loc);
  if (name.empty() || has_variable(name)) {
    throw GraphError(fmt::format(
        "alias '{}' of variable '{}': {}\n  {}", name, variable.name(),
        name.empty() ? "an alias needs a name" : "a variable or alias of this name already exists",
        describe_source(loc)));
  }
  const std::size_t index = variable_of_read_.at(&variable.value().node());
  variable_index_.emplace(std::string(name), index);
  variables_[index].aliases.emplace_back(name);
}

Variable Graph::key(std::string_view name, SourceLocation loc) {
  if (Graph* outer = enclosing()) return outer->key(name, loc);
  if (has_variable(name)) {
    const Variable v = find_variable(name);
    if (v.info().kind != VariableKind::key) {
      throw GraphError(fmt::format("key '{}': a variable of this name exists and is a {}\n  {}",
                                   name, variable_kind_name(v.info().kind), describe_source(loc)));
    }
    return v;
  }
  return variable(name, DType::i64, {2},
                  {.kind = VariableKind::key,
                   .trainable = false,
                   .initializer = {.kind = Initializer::Kind::key}},
                  loc);
}

void Graph::require(const DimEquation& equation, SourceLocation loc) {
  if (Graph& graph = building(); &graph != this) return graph.require(equation, loc);
  check_symbols(equation.left, "require", loc);
  check_symbols(equation.right, "require", loc);
  if (equation.holds) return;
  const Dim difference = equation.left - equation.right;
  if (difference.is_constant()) {
    throw ShapeError(fmt::format("require({} == {}) can never hold\n  {}", equation.left.str(),
                                 equation.right.str(), describe_source(loc)));
  }
  add_requirement(equation);
}

void Graph::add_requirement(const DimEquation& equation) {
  // Every call adds the equations of its function again, so skip equations that are already known.
  if (facts_->equal(equation.left, equation.right)) return;
  requirements_.push_back(equation);
  facts_->add(equation);
}

// -- Generic building -----------------------------------------------------------------------------

Node& Graph::apply(std::string_view op, std::vector<Value> inputs, Attributes attributes,
                   SourceLocation loc) {
  const OpRecord* record = ops_->find(op);
  if (record == nullptr) {
    try {
      ops_->at(op);
    } catch (const Error& e) {
      fail(e, op, inputs, loc);
    }
  }
  return apply(*record, std::move(inputs), std::move(attributes), loc);
}

Node& Graph::apply(const OpRecord& op, std::vector<Value> inputs, Attributes attributes,
                   SourceLocation loc, std::uint32_t instance) {
  return building().add(op, std::move(inputs), std::move(attributes), loc, instance);
}

Node& Graph::add(const OpRecord& op, std::vector<Value> inputs, Attributes attributes,
                 SourceLocation loc, std::uint32_t instance) {
  while (
      !inputs.empty() && !inputs.back().defined() &&
      (inputs.size() > op.inputs.size() || op.inputs[inputs.size() - 1].arity == Arity::optional)) {
    inputs.pop_back();
  }
  try {
    resolve_operands(op, inputs);
    attributes = op.complete(attributes);
    for (const auto& [name, value] : attributes) {
      if (const Dim* d = std::get_if<Dim>(&value)) check_symbols(*d);
      if (const Shape* s = std::get_if<Shape>(&value)) {
        for (const Dim& d : *s) check_symbols(d);
      }
    }
  } catch (const Error& e) {
    fail(e, op.name, inputs, loc);
  }

  const std::size_t hash = node_hash(op, attributes, inputs, instance);
  for (auto [it, end] = interned_.equal_range(hash); it != end; ++it) {
    Node& n = *it->second;
    if (&n.op() == &op && n.instance_ == instance && n.inputs_ == inputs &&
        n.attributes_ == attributes) {
      return n;
    }
  }

  auto node = std::make_unique<Node>();
  std::int64_t streams = 0;
  try {
    node->types_ = infer_types(*this, op, inputs, attributes);
    streams = streams_of(op, inputs, attributes);
    // Constant sizes that are too large are rejected here, so that the error names the source line.
    // Symbolic sizes are checked when they are bound.
    for (const ValueType& type : node->types_) {
      if (type.shape.is_constant()) tensor_bytes(type.dtype, type.shape.constant());
    }
  } catch (const Error& e) {
    fail(e, op.name, inputs, loc);
  }
  node->op_ = &op;
  node->attributes_ = std::move(attributes);
  node->inputs_ = std::move(inputs);
  node->id_ = static_cast<std::uint32_t>(nodes_.size());
  node->instance_ = instance;
  node->graph_ = this;
  if (streams > 0) {
    draws_ = true;
    next_stream_ = std::max(next_stream_, node->attributes_.integer("stream") + streams);
  }
  next_instance_ = std::max(next_instance_, instance + 1);
  Node& result = *node;
  nodes_.push_back(std::move(node));
  interned_.emplace(hash, &result);
  source_infos_.push_back({override_location_ ? location_ : with_owned_file(loc), frame_});
  return result;
}

std::int64_t Graph::streams_of(const OpRecord& op, const std::vector<Value>& inputs,
                               const Attributes& attributes) const {
  std::int64_t count = 0;
  if (op.has(Trait::random)) {
    const auto key = static_cast<std::size_t>(op.input_index("key"));
    if (key < inputs.size() && inputs[key].defined()) count = 1;
  } else {
    for (const std::string& body : op.bodies) {
      count = std::max(count, stream_count(*this, function(attributes.text(body))));
    }
  }
  if (count == 0) return 0;
  const std::int64_t first = attributes.integer("stream"), last = kMaxStream + 1 - count;
  if (first < 0 || first > last) {
    throw ArgumentError(fmt::format("stream must be from 0 to {}, but is {}", last, first));
  }
  return count;
}

std::int64_t Graph::reserve_streams(std::int64_t count) {
  if (Graph& graph = building(); &graph != this) return graph.reserve_streams(count);
  const std::int64_t first = next_stream_;
  next_stream_ += count;
  return first;
}

const Function& Graph::add_function(Function function, SourceLocation loc) {
  if (function.name.empty() || has_function(function.name)) {
    throw GraphError(fmt::format("function '{}': {}\n  {}", function.name,
                                 function.name.empty() ? "a function needs a name"
                                                       : "a function of this name already exists",
                                 describe_source(loc)));
  }
  if (function.body == nullptr) {
    throw GraphError(
        fmt::format("function '{}' has no body\n  {}", function.name, describe_source(loc)));
  }
  for (const Value& v : function.inputs) {
    if (!v.defined() || &v.graph() != function.body.get() || v.node().op().name != "input") {
      throw GraphError(fmt::format("function '{}': its inputs must be inputs of its body\n  {}",
                                   function.name, describe_source(loc)));
    }
  }
  for (const Value& v : function.outputs) {
    if (!v.defined() || &v.graph() != function.body.get()) {
      throw GraphError(fmt::format("function '{}': its outputs must be values of its body\n  {}",
                                   function.name, describe_source(loc)));
    }
  }
  if (!function.body->variables().empty()) {
    throw GraphError(fmt::format(
        "function '{}' declares variable '{}'; functions are closed: pass variables as operands"
        "\n  {}",
        function.name, function.body->variables()[0].name(), describe_source(loc)));
  }
  function_index_.emplace(function.name, functions_.size());
  functions_.push_back(std::move(function));
  return functions_.back();
}

void Graph::check_symbols(const Dim& dim) {
  if (dim.is_constant()) return;
  for (const SymbolPtr& s : dim.symbols()) {
    if (!sees_symbol(s)) {
      throw GraphError(fmt::format(
          "dim '{}' uses symbol '{}' of another graph; create it with Graph::dim of this graph",
          dim.str(), s->name));
    }
    import_symbol(s);
  }
}

void Graph::check_symbols(const Dim& dim, std::string_view what, SourceLocation loc) {
  try {
    check_symbols(dim);
  } catch (const Error& e) {
    e.rethrow_as(fmt::format("{}: {}\n  {}", what, e.what(), describe_source(loc)));
  }
}

void Graph::check_type(const ValueType& type, std::string_view what, SourceLocation loc) {
  for (const Dim& d : type.shape) {
    check_symbols(d, what, loc);
    if (d.is_constant() && d.constant() < 0) {
      throw ShapeError(fmt::format("{}: shape {} has a negative size\n  {}", what, type.shape.str(),
                                   describe_source(loc)));
    }
  }
  if (!type.shape.is_constant()) return;
  try {
    tensor_bytes(type.dtype, type.shape.constant());
  } catch (const Error& e) {
    e.rethrow_as(fmt::format("{}: {}\n  {}", what, e.what(), describe_source(loc)));
  }
}

// -- Queries --------------------------------------------------------------------------------------

Value Graph::find_input(std::string_view name) const {
  const auto it = input_index_.find(std::string(name));
  return it == input_index_.end() ? Value() : inputs_[it->second];
}

std::vector<Variable> Graph::variables() const {
  std::vector<Variable> result;
  result.reserve(variable_reads_.size());
  for (Node* n : variable_reads_) result.emplace_back(n->output(0));
  return result;
}

std::vector<Variable> Graph::parameters() const {
  std::vector<Variable> result;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    if (variables_[i].kind == VariableKind::parameter && variables_[i].trainable) {
      result.emplace_back(variable_reads_[i]->output(0));
    }
  }
  return result;
}

bool Graph::has_variable(std::string_view name) const {
  return variable_index_.find(std::string(name)) != variable_index_.end();
}

Variable Graph::find_variable(std::string_view name) const {
  const auto it = variable_index_.find(std::string(name));
  if (it == variable_index_.end()) {
    std::vector<std::string> names, every_name;
    for (const VariableInfo& info : variables_) {
      names.push_back(info.name);
      every_name.push_back(info.name);
      every_name.insert(every_name.end(), info.aliases.begin(), info.aliases.end());
    }
    throw GraphError(fmt::format("the graph has no variable '{}'{}; it has: {}", name,
                                 did_you_mean(name, every_name), list_names(names)));
  }
  return Variable(variable_reads_[it->second]->output(0));
}

const VariableInfo& Graph::variable_info(const Node& read) const {
  return variables_[variable_of_read_.at(&read)];
}

Value Graph::advanced_key(Variable key) const {
  return advanced_keys_[variable_of_read_.at(key.value().node_pointer())];
}

const VariableInfo& Variable::info() const { return graph().variable_info(read_.node()); }

void Graph::set_trainable(Variable variable, bool trainable) {
  check_owned(variable.value(), "set_trainable", {});
  if (&variable.graph() != this) return variable.graph().set_trainable(variable, trainable);
  variables_[variable_of_read_.at(&variable.value().node())].trainable = trainable;
}

const Function& Graph::function(std::string_view name) const {
  const auto it = function_index_.find(std::string(name));
  if (it != function_index_.end()) return functions_[it->second];
  std::vector<std::string> names;
  for (const Function& f : functions_) names.push_back(f.name);
  throw GraphError(fmt::format("the graph has no function '{}'{}; it has: {}", name,
                               did_you_mean(name, names), list_names(names)));
}

bool Graph::has_function(std::string_view name) const {
  return function_index_.contains(std::string(name));
}

}  // namespace weft
