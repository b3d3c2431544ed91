// Captured values: how the body of a loop or branch that is being built uses values, symbols and
// constants of the graphs around it.
#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/graph/ir/graph.h"
#include "weft/ops/operands.h"

namespace weft {
namespace {

// Larger constants are passed as operands, so that files store them only once.
constexpr std::int64_t kMaxCopiedElements = 64;

// Returns true for small constants and broadcasts of them, such as zeros(): a copy in the body
// costs less than an operand, and passes can fold it.
bool is_cheap_constant(const Node& node) {
  const std::string& op = node.op().name;
  if (op == "broadcast_to") return is_cheap_constant(node.inputs()[0].node());
  return op == "constant" && num_elements(node.type(0).shape.constant()) <= kMaxCopiedElements;
}

/// Returns "it was created by variable 'w' at main.cc:12".
std::string creation_of(const Value& value) {
  const Node& node = value.node();
  const Attribute* name = node.attributes().find("name");
  const std::string declared =
      name == nullptr ? std::string() : fmt::format(" '{}'", std::get<std::string>(*name));
  return fmt::format("it was created by {}{} at {}", node.op().name, declared,
                     node.graph().where(node));
}

}  // namespace

Graph& Graph::building() { return const_cast<Graph&>(std::as_const(*this).building()); }

const Graph& Graph::building() const {
  const Graph* graph = this;
  while (graph->body_ != nullptr) graph = graph->body_;
  return *graph;
}

bool Graph::can_capture(const Value& value) const {
  const Graph* graph = this;
  while (graph != nullptr && graph != &value.graph()) graph = graph->enclosing();
  return graph != nullptr;
}

std::string Graph::describe_foreign(const Value& value) const {
  for (const Graph* closed = this; closed->open_; closed = closed->outer_) {
    if (closed->captures_ != nullptr) continue;
    const Graph* around = closed->outer_;
    while (around != &value.graph() && around->open_) around = around->outer_;
    if (around != &value.graph()) break;
    return fmt::format(
        "{} is closed, because it may be called with different operands: pass other values as "
        "operands; {}",
        closed->body_name_, creation_of(value));
  }
  const Graph& graph = value.graph();
  if (graph.outer_ != nullptr && !graph.open_) {
    return fmt::format(
        "it belongs to {}, which is complete: return it from the body and use the result; {}",
        graph.body_name_, creation_of(value));
  }
  return "values cannot cross graphs; " + creation_of(value);
}

void Graph::check_owned(Value value, std::string_view what, SourceLocation loc) const {
  if (!value.defined()) {
    throw GraphError(fmt::format("{}: the Value is undefined\n  {}", what, describe_source(loc)));
  }
  const Graph& graph = building();
  if (graph.can_capture(value)) return;
  throw GraphError(fmt::format("{}: the Value {} belongs to another graph; {}\n  {}", what,
                               value.type().str(), graph.describe_foreign(value),
                               describe_source(loc)));
}

Value Graph::capture(Value value, std::string_view what, SourceLocation loc) {
  if (value.defined() && can_capture(value)) return captured(value);
  // Reports the problem. A value of a body inside this graph passes this check.
  check_owned(value, what, loc);
  throw GraphError(
      fmt::format("{}: the Value {} belongs to {}, but this graph is around it; {}"
                  "\n  {}",
                  what, value.type().str(), value.graph().body_name_, creation_of(value),
                  describe_source(loc)));
}

Value Graph::captured(const Value& value) {
  if (&value.graph() == this) return value;
  if (is_cheap_constant(value.node())) return copy_constant(value);
  const Value outer = outer_->captured(value);
  if (const auto known = captured_.find(outer); known != captured_.end()) return known->second;
  std::vector<Value>& values = captures_->values;
  const auto at = std::find(values.begin(), values.end(), outer);
  const auto number = captures_->first + static_cast<std::size_t>(at - values.begin());
  if (at == values.end()) values.push_back(outer);
  for (const Dim& d : outer.shape()) check_symbols(d);
  const Value input = add_input(fmt::format("{}{}", captures_->name, number), outer.type(), {});
  copy_source_info(outer.node(), input.node());
  captured_.emplace(outer, input);
  return input;
}

// The recursion is shallow: a chain of broadcasts of a constant.
Value Graph::copy_constant(const Value& value) {
  const Node& node = value.node();
  std::vector<Value> inputs;
  for (const Value& v : node.inputs()) inputs.push_back(copy_constant(v));
  const std::size_t before = nodes_.size();
  Node& copy = add(node.op(), std::move(inputs), node.attributes(), {});
  if (nodes_.size() != before) copy_source_info(node, copy);
  return copy.output(value.output());
}

void Graph::resolve_operands(const OpRecord& op, std::vector<Value>& inputs) {
  std::vector<bool> given;
  for (const Value& v : inputs) given.push_back(v.defined());
  check_operands(op, given);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!given[i] || &inputs[i].graph() == this) continue;
    if (!can_capture(inputs[i])) {
      const bool is_complete = outer_ != nullptr && !open_;
      throw GraphError(fmt::format(
          "operand '{}' is a Value of another graph; {}",
          op.inputs[std::min(i, op.inputs.size() - 1)].name,
          is_complete ? fmt::format("the other operands belong to {}, which is complete: return "
                                    "them from the body and use the results",
                                    body_name_)
                      : describe_foreign(inputs[i])));
    }
    inputs[i] = captured(inputs[i]);
  }
}

bool Graph::sees_symbol(const SymbolPtr& symbol) const {
  const Graph* graph = this;
  while (graph != nullptr && !graph->has_symbol(symbol)) graph = graph->enclosing();
  return graph != nullptr;
}

// Adds a symbol of an enclosing graph and the requirements that contain it.
void Graph::import_symbol(const SymbolPtr& symbol) {
  if (has_symbol(symbol)) return;
  add_symbol(symbol);
  const auto is_known = [this](const Dim& d) {
    const auto symbols = d.symbols();
    return std::all_of(symbols.begin(), symbols.end(),
                       [this](const SymbolPtr& s) { return has_symbol(s); });
  };
  for (const Graph* graph = enclosing(); graph != nullptr; graph = graph->enclosing()) {
    for (const DimEquation& e : graph->requirements_) {
      if (is_known(e.left) && is_known(e.right)) add_requirement(e);
    }
  }
}

}  // namespace weft
