// Stores activations as bfloat16 if they are read only by matrix products at precision `medium`,
// and by at least two of them. The products round these operands anyway. This halves the memory and
// the memory traffic of activations that are kept for the backward pass. The pass `fuse` then makes
// the producer write bfloat16 directly.
//
//   matmul(x, w), matmul(x, g)   ->   n = cast(x, bf16); matmul(n, w), matmul(n, g)
//
// On hardware with native bfloat16 products, the results are bit-exact. If `medium` is computed
// with fused multiply-adds, the results have the error that `medium` allows. Values with other
// readers are left unchanged: an additional narrow copy would cost memory instead of saving it.
#include <algorithm>
#include <unordered_map>

#include "weft/graph/passes/match.h"
#include "weft/graph/passes/pipeline.h"

namespace weft {
namespace {

/// Returns the value that `v` is derived from by reshapes, or `v` itself.
Value base_of(Value v) {
  while (is(v, "reshape")) v = v.node().input(0);
  return v;
}

/// Applies the reshapes that derive `view` from its base to `to`.
Value same_view(const Value& view, const Value& to, Graph& target) {
  std::vector<const Node*> reshapes;
  for (Value v = view; is(v, "reshape"); v = v.node().input(0)) reshapes.push_back(&v.node());
  Value result = to;
  for (auto it = reshapes.rbegin(); it != reshapes.rend(); ++it)
    result = target.apply("reshape", {result}, (*it)->attributes(), {}).output(0);
  return result;
}

class Narrowing {
 public:
  Narrowing(const Program& program, Precision fallback)
      : precision_(program.precision().value_or(fallback)), consumers_(program) {}

  bool has_products() const {
    return std::any_of(consumers_.nodes().begin(), consumers_.nodes().end(),
                       [&](const Node* node) { return rounds(*node); });
  }
  /// Returns true if the node is an f32 matrix product at precision `medium`.
  bool rounds(const Node& node) const {
    if (!is(node, "matmul") || node.type(0).dtype != DType::f32) return false;
    const std::string& own = node.attributes().text("precision");
    return (own.empty() ? precision_ : parse_precision(own)) == Precision::medium;
  }
  bool narrows(const Value& operand) {
    const Value base = base_of(operand);
    if (base.dtype() != DType::f32 || base.node().op().has(Trait::leaf)) return false;
    const auto [known, first] = narrows_.emplace(base, false);
    if (first) known->second = only_products_read(base);
    return known->second;
  }

 private:
  /// Returns true if the value and its views have at least two products as readers, and no other
  /// readers.
  bool only_products_read(const Value& base) const {
    int products = 0;
    std::vector<Value> views = {base};
    while (!views.empty()) {
      const Value view = views.back();
      views.pop_back();
      if (consumers_.is_root(view)) return false;
      for (const Use& use : consumers_.uses(view)) {
        if (is(*use.node, "reshape")) {
          views.push_back(use.node->output(0));
        } else if (rounds(*use.node)) {
          ++products;
        } else {
          return false;
        }
      }
    }
    return products > 1;
  }

  const Precision precision_;
  const Consumers consumers_;
  std::unordered_map<Value, bool, ValueHash> narrows_;  // cached results, keyed by base
};

}  // namespace

Module bf16_activations(Module module, const PassOptions& options) {
  Narrowing narrowing(module.program, options.precision);
  if (!narrowing.has_products()) return module;
  CloneOptions clone;
  clone.steps = options.steps;
  clone.rewrite = [&](const Node& node, const std::vector<Value>& inputs,
                      Graph& target) -> std::vector<Value> {
    if (!narrowing.rounds(node)) return {};
    std::vector<Value> operands = inputs;
    bool any = false;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!narrowing.narrows(node.input(i))) continue;
      const Value narrow =
          target.apply("cast", {base_of(inputs[i])}, {{"dtype", DType::bf16}}, {}).output(0);
      operands[i] = same_view(inputs[i], narrow, target);
      any = true;
    }
    if (!any) return {};
    return {target.apply(node.op(), operands, node.attributes(), {}, node.instance()).output(0)};
  };
  return clone_program(module.program, clone);
}

}  // namespace weft
