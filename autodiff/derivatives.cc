#include "weft/autodiff/derivatives.h"

#include <fmt/format.h>

#include <string_view>
#include <unordered_set>

#include "weft/autodiff/gradient_advice.h"
#include "weft/core/error.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/ir/clone.h"

namespace weft {
namespace {

using Index = std::size_t;

void check_defined(const Value& v, std::string_view function, std::string_view what,
                   SourceLocation loc) {
  if (v.defined()) return;
  throw GradientError(
      fmt::format("{}: {} is an undefined Value\n  at {}", function, what, loc.str()));
}

void check_same_types(const std::vector<Value>& wrt, const std::vector<Value>& given,
                      std::string_view function, std::string_view what, SourceLocation loc) {
  if (wrt.empty()) throw ArgumentError(fmt::format("{}: wrt is empty", function));
  for (const Value& v : wrt) check_defined(v, function, "one of wrt", loc);
  for (const Value& v : given) check_defined(v, function, fmt::format("a {}", what), loc);
  const Graph& graph = wrt[0].graph();
  if (given.size() != wrt.size()) {
    throw ArgumentError(fmt::format("{}: {} {}s for {} values\n  {}", function, given.size(), what,
                                    wrt.size(), graph.describe_source(loc)));
  }
  for (Index i = 0; i < wrt.size(); ++i) {
    if (given[i].type() == wrt[i].type()) continue;
    throw ShapeError(fmt::format("{}: {} {} is {}, but the value is {}\n  {}", function, what, i,
                                 given[i].type().str(), wrt[i].type().str(),
                                 graph.describe_source(loc)));
  }
}

Value inner_product(const std::vector<Value>& a, const std::vector<Value>& b) {
  Value total;
  for (Index i = 0; i < a.size(); ++i) {
    const Value part = sum(a[i] * b[i]);
    total = total.defined() ? total + part : part;
  }
  return total;
}

// Returns the node that produces `wrt` and all of `nodes` that depend on `wrt`. `nodes` lists
// operands before their users.
std::unordered_set<const Node*> dependents(const std::vector<Node*>& nodes, const Value& wrt) {
  std::unordered_set<const Node*> depend = {wrt.node_pointer()};
  for (const Node* n : nodes) {
    if (n == wrt.node_pointer()) continue;
    for (const Value& v : n->inputs()) {
      // Other outputs of the node that produces wrt do not depend on wrt.
      const bool other = v.defined() && v.node_pointer() == wrt.node_pointer() && v != wrt;
      if (v.defined() && !other && depend.contains(v.node_pointer())) depend.insert(n);
    }
  }
  return depend;
}

// Returns the values other than `wrt` that the dependent `nodes` are computed from: the remaining
// operands of the function that maps `wrt` to them.
std::vector<Value> other_operands(const std::vector<Node*>& nodes,
                                  const std::unordered_set<const Node*>& depend, const Value& wrt) {
  std::unordered_set<Value, ValueHash> seen = {wrt};
  std::vector<Value> result;
  for (const Node* n : nodes) {
    if (n == wrt.node_pointer() || !depend.contains(n)) continue;
    for (const Value& v : n->inputs()) {
      const bool outside = v.defined() && (v.node_pointer() == wrt.node_pointer() ||
                                           !depend.contains(v.node_pointer()));
      if (outside && seen.insert(v).second) result.push_back(v);
    }
  }
  return result;
}

// Error texts for the functions in this file, whose callers cannot pass GradientOptions.
GradientAdvice advice(const char* function) {
  return {.function = function,
          .unreachable = "leave it out: the derivative with respect to it is 0"};
}

Value jacobian_for(const char* function, Value output, Value wrt, Unreachable unreachable,
                   SourceLocation loc) {
  Graph& graph = output.graph();
  // In the body of a loop, wrt may be a value of the enclosing graph.
  if (wrt.defined()) wrt = graph.capture(wrt, function, loc);
  const auto product = [&](Value of, Value by, Value cotangent) {
    return gradients_for(advice(function), of, {by},
                         {.cotangent = cotangent, .unreachable = unreachable}, loc)[0];
  };
  {
    // Differentiates once and discards the result, so that errors in output and wrt are reported
    // before the loop is built.
    const Graph::Undo undo(graph);
    product(output, wrt, output);
  }
  std::vector<Dim> dims(output.shape().begin(), output.shape().end());
  dims.insert(dims.end(), wrt.shape().begin(), wrt.shape().end());
  const std::vector<Node*> nodes = reachable_nodes({output});
  const std::unordered_set<const Node*> depend = dependents(nodes, wrt);
  if (output != wrt &&
      (output.node_pointer() == wrt.node_pointer() || !depend.contains(output.node_pointer())))
    return zeros(graph, wrt.dtype(), Shape(dims), loc);
  std::vector<Value> operands = other_operands(nodes, depend, wrt);
  operands.insert(operands.begin(), wrt);
  const ScanResult result = scan(
      graph, {}, {}, operands,
      [&](Graph& body, const ScanElements& in) {
        Cloner cloner(body);
        for (Index i = 0; i < operands.size(); ++i) cloner.set(operands[i], in.operands[i]);
        const Value copy = cloner.copy(output);
        const Value unit = cast(equal(arange(body, copy.shape().numel()), in.index), copy.dtype());
        return ScanStep{{}, {product(copy, in.operands[0], reshape(unit, copy.shape()))}};
      },
      {.length = AxisSize(output.shape().numel()), .same_draws = true, .name = function}, loc);
  return reshape(Arg(result.outputs[0], loc), Shape(dims));
}

}  // namespace

std::vector<Value> vjp(Value output, const std::vector<Value>& wrt, Value cotangent,
                       SourceLocation loc) {
  check_defined(cotangent, "vjp", "cotangent", loc);
  return gradients_for(advice("vjp"), output, wrt, {.cotangent = cotangent}, loc);
}

Value jvp(Value output, const std::vector<Value>& wrt, const std::vector<Value>& tangents,
          SourceLocation loc) {
  check_same_types(wrt, tangents, "jvp", "tangent", loc);
  check_defined(output, "jvp", "output", loc);
  // The cotangent can have any value, because the result does not depend on it. The barrier makes
  // it a separate node that has no other users.
  const Value cotangent = optimization_barrier(zeros_like(output));
  const std::vector<Value> linear =
      gradients_for(advice("jvp"), output, wrt, {.cotangent = cotangent}, loc);
  return gradient(inner_product(linear, tangents), cotangent, {.unreachable = Unreachable::zeros},
                  loc);
}

Value jacobian(Value output, Value wrt, SourceLocation loc) {
  check_defined(output, "jacobian", "output", loc);
  return jacobian_for("jacobian", output, wrt, Unreachable::error, loc);
}

Value hessian(Value output, Value wrt, SourceLocation loc) {
  const Value slope = gradients_for(advice("hessian"), output, {wrt}, {}, loc)[0];
  // If the output is linear in wrt, the Hessian is zero, as in hessian_vector_product().
  return jacobian_for("hessian", slope, wrt, Unreachable::zeros, loc);
}

std::vector<Value> hessian_vector_product(Value output, const std::vector<Value>& wrt,
                                          const std::vector<Value>& direction, SourceLocation loc) {
  check_same_types(wrt, direction, "hessian_vector_product", "direction", loc);
  // The direction is held constant, even if it depends on wrt.
  const GradientAdvice words = advice("hessian_vector_product");
  return gradients_of_all(words, gradients_for(words, output, wrt, {}, loc), direction, wrt,
                          {.unreachable = Unreachable::zeros}, loc);
}

}  // namespace weft
