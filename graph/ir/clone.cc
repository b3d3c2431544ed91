#include "weft/graph/ir/clone.h"

#include <algorithm>

#include "weft/graph/ir/difference.h"
#include "weft/graph/ir/draws.h"

namespace weft {
namespace {

ValueType map_type(ValueType type, const CloneOptions& options) {
  if (options.map_dtype) type.dtype = options.map_dtype(type.dtype);
  if (options.map_symbol) type.shape = type.shape.substitute(options.map_symbol);
  return type;
}

Attributes map_attributes(const Attributes& attributes, const CloneOptions& options) {
  if (!options.map_dtype) {
    return options.map_symbol ? attributes.substitute(options.map_symbol) : attributes;
  }
  Attributes result;
  for (const auto& [name, value] :
       options.map_symbol ? attributes.substitute(options.map_symbol) : attributes) {
    if (const DType* d = std::get_if<DType>(&value)) {
      result.set(name, options.map_dtype(*d));
    } else if (const Tensor* t = std::get_if<Tensor>(&value)) {
      result.set(name, t->to(options.map_dtype(t->dtype())));
    } else {
      result.set(name, value);
    }
  }
  return result;
}

}  // namespace

Cloner::Cloner(Graph& target, CloneOptions options)
    : target_(target), options_(std::move(options)) {}

// Bodies contain the functions that they call, so the recursion depth is the nesting depth of
// function definitions. Function names are local to a body: the target may already have a different
// function of the same name.
const std::string& Cloner::copy_function(const Graph& source, const std::string& name) {
  const Function& from = source.function(name);
  if (const auto it = functions_.find(&from); it != functions_.end()) return it->second;
  Function to;
  if (!from.gradient.empty()) to.gradient = copy_function(source, from.gradient);
  to.body = empty_copy(*from.body);
  CloneOptions inside = options_;
  // Stream numbers and symbols are local to a body, even if the caller has the same symbols.
  inside.first_stream = 0;
  inside.map_symbol = {};
  inside.rewrite = {};
  inside.copy_first = {};
  Cloner cloner(*to.body, std::move(inside));
  for (const Value& v : from.inputs) to.inputs.push_back(cloner.copy(v));
  for (const Value& v : from.outputs) to.outputs.push_back(cloner.copy(v));
  to.name = from.name;
  for (int number = 2; target_.has_function(to.name); ++number) {
    if (difference(target_.function(to.name), to).empty()) {
      return functions_.emplace(&from, to.name).first->second;
    }
    to.name = from.name + "." + std::to_string(number);
  }
  const std::string& chosen = functions_.emplace(&from, to.name).first->second;
  target_.add_function(std::move(to), {});
  return chosen;
}

void Cloner::set(Value from, Value to) { map_.insert_or_assign(from, to); }

Value Cloner::find(Value value) const {
  const auto it = map_.find(value);
  return it == map_.end() ? Value() : it->second;
}

Value Cloner::copy(Value value) {
  if (!value.defined()) return {};
  if (const Value done = find(value); done.defined()) return done;
  // Depth first without recursion: a node is copied after all its inputs.
  std::vector<Node*> stack = {&value.node()};
  while (!stack.empty()) {
    Node* n = stack.back();
    if (find(n->output(0)).defined()) {
      stack.pop_back();
      continue;
    }
    bool ready = true;
    if (options_.steps != nullptr)
      *options_.steps += 1 + static_cast<std::int64_t>(n->inputs().size());
    for (const Value& v : n->inputs()) {
      if (v.defined() && !find(v).defined()) {
        stack.push_back(&v.node());
        ready = false;
      }
    }
    if (!ready) continue;
    stack.pop_back();
    copy_node(*n);
  }
  return map_.at(value);
}

void Cloner::copy_node(const Node& node) {
  Node& source = const_cast<Node&>(node);  // needed to form Values of the node's outputs
  const Graph& graph = node.graph();
  const auto put = [&](int output, Value to) { map_.emplace(source.output(output), to); };

  if (node.op().name == "input") {
    const std::string& name = node.attributes().text("name");
    Value v = target_.find_input(name);
    if (!v.defined()) {
      v = target_.input(name, map_type(node.type(0), options_), {});
      target_.copy_source_info(node, v.node());
    }
    return put(0, v);
  }
  if (node.op().name == "variable") {
    const VariableInfo& info = graph.variable_info(node);
    if (!target_.has_variable(info.name)) {
      const Variable v = target_.variable(
          info.name, map_type(node.type(0), options_),
          {.kind = info.kind, .trainable = info.trainable, .initializer = info.initializer}, {});
      for (const std::string& alias : info.aliases) target_.alias(alias, v, {});
      target_.copy_source_info(node, v.value().node());
      // Graph::variable() creates the advanced key together with a random key.
      const Value from = graph.advanced_key(Variable(source.output(0))),
                  to = target_.advanced_key(v);
      if (from.defined() && to.defined()) target_.copy_source_info(from.node(), to.node());
    }
    return put(0, target_.find_variable(info.name));
  }

  std::vector<Value> inputs;
  inputs.reserve(node.inputs().size());
  for (const Value& v : node.inputs()) inputs.push_back(v.defined() ? map_.at(v) : Value());

  if (options_.rewrite) {
    const std::size_t before = target_.node_count();
    const std::vector<Value> replaced = options_.rewrite(node, inputs, target_);
    if (!replaced.empty()) {
      for (std::size_t id = before; id < target_.node_count(); ++id) {
        if (!target_.location(target_.node(id)).known())
          target_.copy_source_info(node, target_.node(id));
      }
      for (std::size_t i = 0; i < replaced.size(); ++i) put(static_cast<int>(i), replaced[i]);
      return;
    }
  }
  Attributes attributes = map_attributes(node.attributes(), options_);
  if (const std::optional<double> number = graph.unrounded(node); number && options_.map_dtype) {
    attributes.set("value", Tensor::scalar(options_.map_dtype(node.type(0).dtype), *number));
  }
  for (const std::string& body : node.op().bodies) {
    attributes.set(body, copy_function(graph, node.attributes().text(body)));
  }
  const OpRecord* op = target_.ops().find(node.op().name, node.op().version);
  const std::size_t before = target_.node_count();
  Node& copied =
      target_.apply(op != nullptr ? *op : node.op(), std::move(inputs),
                    with_streams_from(options_.first_stream, node, std::move(attributes)),
                    graph.location(node), node.instance());
  if (target_.node_count() != before) target_.copy_source_info(node, copied);
  for (int i = 0; i < node.output_count(); ++i) put(i, copied.output(i));
}

std::unique_ptr<Graph> empty_copy(const Graph& source) {
  auto graph = std::make_unique<Graph>(source.shared_ops());
  graph->share_symbols(source);
  for (const DimEquation& e : source.requirements()) graph->require(e, {});
  return graph;
}

Module clone_program(const Program& program, const CloneOptions& options) {
  Module module{program.graph() != nullptr ? empty_copy(*program.graph())
                                           : std::make_unique<Graph>(std::make_shared<OpSet>()),
                Program(program.name())};
  module.program.take_options(program).shards(program.shards());
  if (program.graph() == nullptr) return module;
  const Graph& source = *program.graph();
  Graph& target = *module.graph;
  Cloner cloner(target, options);
  const Updates updates = program.updates();
  // Leaves are copied first, in declaration order, so that the copy lists them in the same order.
  for (const Value& v : program.inputs()) cloner.copy(v);
  for (const Variable& v : program.variables()) cloner.copy(v.value());
  if (options.copy_first) options.copy_first(cloner);
  for (const auto& [name, value] : program.outputs()) {
    module.program.output(name, cloner.copy(value), {});
  }
  for (const auto& [variable, value] : updates) {
    module.program.update(Variable(cloner.copy(variable.value())), cloner.copy(value), {});
  }
  for (const auto& [name, value] : source.names()) {
    const Value copied = cloner.find(value);
    if (copied.defined()) target.set_name(name, copied, {});
  }
  return module;
}

}  // namespace weft
