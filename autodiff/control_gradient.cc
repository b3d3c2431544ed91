#include "weft/autodiff/control_gradient.h"

#include <fmt/format.h>

#include "weft/autodiff/scan_gradient.h"
#include "weft/core/error.h"
#include "weft/graph/control/body.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/ir/clone.h"

namespace weft {
namespace {

using Index = std::size_t;

// Returns the derivative of one branch: a function of the branch's operands and output cotangents
// that recomputes the branch and differentiates it.
Function branch_gradient(const Function& branch, const std::vector<Value>& cotangents,
                         const std::vector<bool>& needed, const DifferentiateBody& differentiate) {
  Function f = open_copy(branch);
  f.name = branch.name + ".gradient";
  Graph& body = *f.body;
  const std::vector<Value> operands = f.inputs, outputs = f.outputs;
  std::vector<Value> from, with, wrt;
  for (Index o = 0; o < outputs.size(); ++o) {
    if (!cotangents[o].defined()) continue;
    from.push_back(outputs[o]);
    with.push_back(fresh_input(body, fmt::format("d{}", o), outputs[o].type()));
    f.inputs.push_back(with.back());
  }
  for (Index i = 0; i < operands.size(); ++i) {
    if (needed[i]) wrt.push_back(operands[i]);
  }
  f.outputs = differentiate(body, from, with, wrt);
  for (Index i = 0; i < wrt.size(); ++i) {
    if (!f.outputs[i].defined()) f.outputs[i] = zeros_like(wrt[i]);
  }
  return f;
}

std::vector<Value> cond_gradient(Node& node, const std::vector<Value>& cotangents,
                                 const std::vector<bool>& needed,
                                 const DifferentiateBody& differentiate) {
  Graph& graph = node.graph();
  const std::vector<bool> of_operands(needed.begin() + 1, needed.end());
  const auto branch = [&](const char* name) {
    const Function& f = graph.function(node.attributes().text(name));
    return add_body(graph, branch_gradient(f, cotangents, of_operands, differentiate), {});
  };
  std::vector<Value> inputs = node.inputs();
  for (const Value& c : cotangents) {
    if (c.defined()) inputs.push_back(c);
  }
  Node& made = graph.apply("cond", std::move(inputs),
                           {{"then", branch("then")},
                            {"else", branch("else")},
                            {"stream", node.attributes().integer("stream")}},
                           {});
  std::vector<Value> result(node.inputs().size());
  int next = 0;
  for (Index i = 0; i < needed.size(); ++i) {
    if (needed[i]) result[i] = made.output(next++);
  }
  return result;
}

}  // namespace

Function open_copy(const Function& from) {
  Function to;
  to.name = from.name;
  to.body = empty_copy(*from.body);
  Cloner cloner(*to.body);
  for (const Value& v : from.inputs) to.inputs.push_back(cloner.copy(v));
  for (const Value& v : from.outputs) to.outputs.push_back(cloner.copy(v));
  return to;
}

Value fresh_input(Graph& body, const std::string& name, const ValueType& type) {
  std::string chosen = name;
  for (int number = 2; body.find_input(chosen).defined(); ++number) {
    chosen = fmt::format("{}.{}", name, number);
  }
  return body.input(chosen, type, {});
}

std::vector<Value> control_gradient(Node& node, const std::vector<Value>& cotangents,
                                    const std::vector<bool>& needed,
                                    const DifferentiateBody& differentiate) {
  switch (control_op(node)) {
    case ControlOp::scan: return scan_gradient(node, cotangents, needed, differentiate);
    case ControlOp::cond: return cond_gradient(node, cotangents, needed, differentiate);
    case ControlOp::while_loop: break;
  }
  throw GradientError(
      fmt::format("while_loop has no gradient, because the number of values that its steps would "
                  "store is unbounded; use a scan over a fixed number of steps with a cond in its "
                  "body instead\n  {}",
                  node.graph().where(node)));
}

}  // namespace weft
