#include "weft/autodiff/gradients.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "weft/autodiff/control_gradient.h"
#include "weft/autodiff/gradient_advice.h"
#include "weft/autodiff/narrow.h"
#include "weft/autodiff/shard_gradients.h"
#include "weft/graph/control/call.h"
#include "weft/graph/functions/add_into.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/ir/clone.h"
#include "weft/graph/ir/program.h"

namespace weft {
namespace {

bool differentiable(const Value& v) { return v.defined() && is_floating(v.dtype()); }

// One backward sweep, from outputs with given cotangents to `wrt`.
class Sweep {
 public:
  Sweep(Graph& graph, const RuleSet& rules, const GradientAdvice& advice)
      : graph_(graph), rules_(rules), advice_(advice) {}

  // Returns the gradient with respect to each of `wrt`, undefined if the outputs do not depend on
  // it. If `boundary` is not null, `outputs` replace the results of a single node, and `boundary`
  // lists the operands of that node. The values of `wrt` are then independent of each other: no
  // gradient flows through one of them to another.
  std::vector<Value> run(const std::vector<Value>& outputs, const std::vector<Value>& cotangents,
                         const std::vector<Value>& wrt, const std::vector<Value>* boundary) {
    const std::vector<Node*> nodes = nodes_of(outputs, boundary);
    count(nodes.size());
    std::unordered_map<Value, bool, ValueHash> wanted;
    for (const Value& v : wrt) wanted[v] = true;

    // The nodes that depend on wrt through floating-point operands.
    std::unordered_set<const Node*> active;
    const auto depends = [&](const Value& v) {
      return differentiable(v) && (active.contains(v.node_pointer()) || wanted.count(v) != 0);
    };
    for (Node* n : nodes) {
      if (n->op().gradient == Gradient::none) continue;
      bool any = false;
      for (const Value& v : n->inputs()) any = any || depends(v);
      // A node that produces an operand of the boundary is a leaf here, even if its own operands
      // are in wrt as well.
      if (boundary != nullptr && any) {
        bool all_cut = n->output_count() > 0;
        for (int i = 0; i < n->output_count(); ++i) {
          all_cut = all_cut && wanted.count(n->output(i)) != 0;
        }
        any = !all_cut;
      }
      if (any) active.insert(n);
    }

    std::unordered_map<Value, std::vector<Value>, ValueHash> contributions;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (cotangents[i].defined()) contributions[outputs[i]].push_back(cotangents[i]);
    }
    for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
      Node& node = **it;
      if (!active.contains(&node)) continue;
      std::vector<Value> output_cotangents;
      bool any = false;
      for (int i = 0; i < node.output_count(); ++i) {
        const bool cut = boundary != nullptr && wanted.count(node.output(i)) != 0;
        output_cotangents.push_back(cut ? Value() : total(contributions, node.output(i)));
        any = any || output_cotangents.back().defined();
      }
      if (!any) continue;
      std::vector<bool> needed;
      for (const Value& v : node.inputs()) needed.push_back(depends(v));
      const Graph::InheritedSourceInfo place(graph_, node,
                                             fmt::format("gradient of {}", node.op().name));
      const std::vector<Value> input_gradients = differentiate(node, output_cotangents, needed);
      for (std::size_t i = 0; i < input_gradients.size(); ++i) {
        if (input_gradients[i].defined() && i < needed.size() && needed[i]) {
          contributions[node.input(i)].push_back(fit(node, i, input_gradients[i]));
        }
      }
    }
    std::vector<Value> result;
    for (const Value& v : wrt) result.push_back(total(contributions, v));
    return result;
  }

 private:
  using Contributions = std::unordered_map<Value, std::vector<Value>, ValueHash>;

  void count(std::size_t steps) {
    if (advice_.steps != nullptr) *advice_.steps += static_cast<std::int64_t>(steps);
  }

  // Returns the nodes that `outputs` are computed from, in graph order. If `operands` is not null,
  // the search stops at these values.
  static std::vector<Node*> nodes_of(const std::vector<Value>& outputs,
                                     const std::vector<Value>* operands) {
    if (operands == nullptr) return reachable_nodes(outputs);
    const std::unordered_set<Value, ValueHash> ends(operands->begin(), operands->end());
    std::unordered_set<Node*> seen;
    std::vector<Node*> stack;
    const auto visit = [&](const Value& v) {
      if (v.defined() && !ends.contains(v) && seen.insert(&v.node()).second) {
        stack.push_back(&v.node());
      }
    };
    for (const Value& v : outputs) visit(v);
    while (!stack.empty()) {
      const Node* n = stack.back();
      stack.pop_back();
      for (const Value& v : n->inputs()) visit(v);
    }
    std::vector<Node*> nodes(seen.begin(), seen.end());
    std::sort(nodes.begin(), nodes.end(), [](Node* a, Node* b) { return a->id() < b->id(); });
    return nodes;
  }

  // Returns the sum of the contributions to the gradient of `v`, in order of arrival. The sum
  // replaces the contributions, so that it is built only once.
  Value total(Contributions& contributions, Value v) {
    const auto it = contributions.find(v);
    if (it == contributions.end()) return {};
    std::vector<Value>& parts = it->second;
    // Contributions to a 16-bit value are summed in f32 and rounded once.
    const auto part = [&](std::size_t i) {
      return is_narrow(v) && parts.size() > 1 ? cast(parts[i], DType::f32) : parts[i];
    };
    Value sum = part(0);
    for (std::size_t i = 1; i < parts.size(); ++i) sum = add_into(sum, part(i));
    if (sum.dtype() != v.dtype()) sum = cast(sum, v.dtype());
    count(parts.size());
    parts = {sum};
    return sum;
  }

  std::vector<Value> differentiate(Node& node, const std::vector<Value>& cotangents,
                                   const std::vector<bool>& needed) {
    if (is_call(node)) return differentiate_call(node, cotangents, needed);
    if (node.op().has_bodies()) {
      const auto inside = [this](Graph& body, const std::vector<Value>& outputs,
                                 const std::vector<Value>& output_cotangents,
                                 const std::vector<Value>& wrt) {
        return Sweep(body, rules_, advice_).run(outputs, output_cotangents, wrt, nullptr);
      };
      return control_gradient(node, cotangents, needed, inside);
    }
    if (node.op().gradient == Gradient::rule) {
      if (const GradientRule rule = node.op().rule ? node.op().rule : rules_.find(node.op().name)) {
        return rule(GradientContext(node, cotangents, needed));
      }
    }
    if (const Decomposition define =
            node.op().definition ? node.op().definition : rules_.definition(node.op().name)) {
      const std::vector<Value> outputs = define(node, node.inputs(), graph_);
      return through(node, outputs, cotangents, needed);
    }
    throw GradientError(
        fmt::format("op {} has no gradient rule and no decomposition into primitive ops; {}\n  {}",
                    node.op().name, advice_.no_rule, graph_.where(node)));
  }

  // Differentiates `outputs`, which are built from the node's operands, instead of the node itself.
  std::vector<Value> through(Node& node, const std::vector<Value>& outputs,
                             const std::vector<Value>& cotangents,
                             const std::vector<bool>& needed) {
    std::vector<Value> from, with, wrt;
    std::vector<std::size_t> index;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].defined() || !cotangents[i].defined()) continue;
      from.push_back(outputs[i]);
      with.push_back(cotangents[i]);
    }
    for (std::size_t i = 0; i < needed.size(); ++i) {
      if (!needed[i]) continue;
      // A value may be used as several operands; its gradient must be counted once.
      bool seen = false;
      for (const Value& v : wrt) seen = seen || v == node.input(i);
      if (seen) continue;
      wrt.push_back(node.input(i));
      index.push_back(i);
    }
    const auto grads = Sweep(graph_, rules_, advice_).run(from, with, wrt, &node.inputs());
    std::vector<Value> result(node.inputs().size());
    for (std::size_t i = 0; i < index.size(); ++i) result[index[i]] = grads[i];
    return result;
  }

  std::vector<Value> differentiate_call(Node& node, const std::vector<Value>& cotangents,
                                        const std::vector<bool>& needed) {
    const Function& function = graph_.function(node.attributes().text("body"));
    const std::int64_t stream = node.attributes().integer("stream");
    if (!function.gradient.empty()) {
      std::vector<Value> operands = node.inputs();
      for (int i = 0; i < node.output_count(); ++i) operands.push_back(node.output(i));
      for (int i = 0; i < node.output_count(); ++i) {
        const Value& c = cotangents[static_cast<std::size_t>(i)];
        operands.push_back(c.defined() ? c : zeros(node.output(i).type()));
      }
      Node& call = graph_.apply("call", std::move(operands),
                                {{"body", function.gradient}, {"stream", stream}}, {});
      std::vector<Value> result;
      for (int i = 0; i < call.output_count(); ++i) result.push_back(call.output(i));
      return result;
    }
    // Differentiates a copy of the body, inlined here; if the call is inlined later, it shares
    // these nodes. The symbols of the body are replaced by the caller's dims.
    const SymbolMap symbols = bind_symbols(function, node.inputs());
    CloneOptions options;
    options.map_symbol = symbols.lookup();
    options.first_stream = stream;
    Cloner cloner(graph_, std::move(options));
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      cloner.set(function.inputs[i], node.input(i));
    }
    std::vector<Value> outputs;
    for (const Value& v : function.outputs) outputs.push_back(cloner.copy(v));
    return through(node, outputs, cotangents, needed);
  }

  Value zeros(const ValueType& type) {
    return graph_
        .apply("broadcast_to", {graph_.scalar(type.dtype, 0, {})}, {{"shape", type.shape}}, {})
        .output(0);
  }

  // Checks the type of a rule's result against the operand. For elementwise ops, also sums the
  // result over broadcast axes; rules of other ops that broadcast (matmul) do so themselves.
  Value fit(const Node& node, std::size_t i, Value gradient) {
    const Value operand = node.input(i);
    const auto same = [&](const Shape& a, const Shape& b) {
      if (a.rank() != b.rank()) return false;
      for (int k = 0; k < a.rank(); ++k) {
        if (!graph_.facts().equal(a[k], b[k])) return false;
      }
      return true;
    };
    if (node.op().has(Trait::elementwise) && !same(gradient.shape(), operand.shape())) {
      gradient = sum_to(widened(gradient), operand.shape());
    }
    const bool right_type = gradient.dtype() == operand.dtype() ||
                            (is_narrow(operand) && is_floating(gradient.dtype()));
    if (!right_type || !same(gradient.shape(), operand.shape())) {
      throw GradientError(fmt::format(
          "the gradient rule of op {} returns {} for operand {}, which is {}\n  {}", node.op().name,
          gradient.type().str(), i, operand.type().str(), graph_.where(node)));
    }
    return gradient;
  }

  Graph& graph_;
  const RuleSet& rules_;
  const GradientAdvice& advice_;
};

std::string describe(const Value& v) {
  if (v.node().op().name == "variable" || v.node().op().name == "input") {
    return fmt::format("{} '{}' ({})", v.node().op().name, v.node().attributes().text("name"),
                       v.type().str());
  }
  const std::string name = v.graph().name_of(v);
  return fmt::format("the result {}of {} ({}, built at {})", name.empty() ? "" : "'" + name + "' ",
                     v.node().op().name, v.type().str(), v.graph().where(v.node()));
}

}  // namespace

std::vector<Value> gradients_for(const GradientAdvice& advice, Value output,
                                 const std::vector<Value>& wrt, const GradientOptions& options,
                                 SourceLocation loc, const std::vector<Value>& joined) {
  if (!output.defined()) {
    throw GradientError(fmt::format("{}: the differentiated Value is undefined\n  at {}",
                                    advice.function, loc.str()));
  }
  Graph& graph = output.graph();
  const Graph::Outside outside(graph);
  Graph::Undo undo(graph);
  Value cotangent = options.cotangent;
  if (!cotangent.defined() && is_floating(output.dtype())) {
    if (output.rank() != 0) {
      throw GradientError(
          fmt::format("{}: {} is not a scalar; reduce it (sum, mean) or pass a cotangent of the "
                      "same type\n  {}",
                      advice.function, describe(output), graph.describe_source(loc)));
    }
    cotangent = graph.scalar(output.dtype(), 1, loc);
  }
  auto result = gradients_of_all(advice, {output}, {cotangent}, wrt, options, loc, joined);
  undo.keep();
  return result;
}

std::vector<Value> gradients_of_all(const GradientAdvice& advice, const std::vector<Value>& outputs,
                                    std::vector<Value> cotangents, std::vector<Value> wrt,
                                    const GradientOptions& options, SourceLocation loc,
                                    const std::vector<Value>& joined) {
  // In the body of a loop, wrt may be values of the enclosing graph.
  Graph& graph = outputs.at(0).graph();
  const Graph::Outside outside(graph);
  Graph::Undo undo(graph);
  const auto fail = [&](const std::string& what) {
    throw GradientError(
        fmt::format("{}: {}\n  {}", advice.function, what, graph.describe_source(loc)));
  };
  for (const Value& output : outputs) {
    if (!is_floating(output.dtype()))
      fail(fmt::format("{} is not floating point, so it has no gradient", describe(output)));
  }
  for (Value& v : wrt) {
    v = graph.capture(v, advice.function, loc);
    if (!is_floating(v.dtype())) fail(fmt::format("{} is not floating point", describe(v)));
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    cotangents[i] = graph.capture(cotangents[i], "gradients: the cotangent", loc);
    if (!(cotangents[i].type() == outputs[i].type())) {
      fail(fmt::format("the cotangent is {}, but {} was expected", cotangents[i].type().str(),
                       outputs[i].type().str()));
    }
  }
  const RuleSet& rules = options.rules != nullptr ? *options.rules : builtin_rules();
  Sweep sweep(graph, rules, advice);
  const auto run = [&](const std::vector<Value>& from, const std::vector<Value>& with,
                       const std::vector<Value>& to) { return sweep.run(from, with, to, nullptr); };
  auto result = sweep_through_shards(graph, run, outputs, cotangents, wrt, joined);
  std::string missing;
  for (std::size_t i = 0; i < wrt.size(); ++i) {
    if (result[i].defined()) continue;
    if (options.unreachable == Unreachable::zeros) {
      result[i] = graph
                      .apply("broadcast_to", {graph.scalar(wrt[i].dtype(), 0, loc)},
                             {{"shape", wrt[i].shape()}}, loc)
                      .output(0);
    } else {
      missing += (missing.empty() ? "" : ", ") + describe(wrt[i]);
    }
  }
  if (!missing.empty()) {
    fail(fmt::format("{} does not depend on {} through differentiable ops; {}",
                     describe(outputs[0]), missing, advice.unreachable));
  }
  undo.keep();
  return result;
}

std::vector<Value> gradients(Value output, const std::vector<Value>& wrt,
                             const GradientOptions& options, SourceLocation loc) {
  return gradients_for({}, output, wrt, options, loc);
}

std::vector<Value> gradients(Value output, const std::vector<Variable>& wrt,
                             const GradientOptions& options, SourceLocation loc) {
  std::vector<Value> values;
  for (const Variable& v : wrt) values.push_back(v.value());
  return gradients(output, values, options, loc);
}

std::vector<Value> gradients(Value output, std::initializer_list<Value> wrt,
                             const GradientOptions& options, SourceLocation loc) {
  return gradients(output, std::vector<Value>(wrt), options, loc);
}

std::vector<Value> gradients(Value output, std::initializer_list<Variable> wrt,
                             const GradientOptions& options, SourceLocation loc) {
  return gradients(output, std::vector<Variable>(wrt), options, loc);
}

Value gradient(Value output, Value wrt, const GradientOptions& options, SourceLocation loc) {
  return gradients(output, std::vector<Value>{wrt}, options, loc)[0];
}

}  // namespace weft
