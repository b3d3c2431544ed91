// Where products are asked for at `medium`, an activation that several of them read, and nothing
// else does, is kept as bfloat16: they round it anyway. Half the bytes wait for the backward pass,
// and half are read there; `fuse` lets what makes the activation write the narrow form at once.
//
//   matmul(x, w), matmul(x, g)   ->   n = cast(x, bf16); matmul(n, w), matmul(n, g)
//
// On a unit that multiplies bfloat16 the results keep every bit. Where `medium` runs on fused
// multiply-adds, they get the error that `medium` allows. Values with other users stay as they are:
// a narrow copy beside the wide one would cost memory, not save it.
#include <unordered_map>

#include "weft/graph/passes/pipeline.h"

namespace weft {
namespace {

struct Uses {
  int products = 0;
  bool other = false;
};

bool is(const Value& v, std::string_view op) { return v.node().op().name == op; }

/// What a view is made of.
Value base_of(Value v) {
  while (is(v, "reshape")) v = v.node().input(0);
  return v;
}

/// The same view of `to` that `view` is of its base.
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
      : precision_(program.precision().value_or(fallback)) {
    for (const Node* node : program.nodes()) {
      for (const Value& v : node->inputs()) {
        if (!v.defined() || is_view(*node)) continue;
        Uses& uses = uses_[base_of(v)];
        if (rounds(*node)) {
          ++uses.products;
          any_ = true;
        } else {
          uses.other = true;
        }
      }
    }
    for (const Value& v : program.roots()) uses_[base_of(v)].other = true;
  }

  /// A product at medium of f32 operands?
  bool rounds(const Node& node) const {
    if (node.op().name != "matmul" || node.type(0).dtype != DType::f32) return false;
    const std::string& own = node.attributes().text("precision");
    return (own.empty() ? precision_ : parse_precision(own)) == Precision::medium;
  }
  bool any() const { return any_; }
  bool narrows(const Value& operand) const {
    const Value base = base_of(operand);
    if (base.dtype() != DType::f32 || base.node().op().has(Trait::leaf)) return false;
    const auto found = uses_.find(base);
    return found != uses_.end() && found->second.products > 1 && !found->second.other;
  }

 private:
  static bool is_view(const Node& node) { return node.op().name == "reshape"; }

  Precision precision_;
  bool any_ = false;  // product at medium
  std::unordered_map<Value, Uses, ValueHash> uses_;
};

}  // namespace

Module narrow_activations(Module module, const PassOptions& options) {
  const Narrowing narrowing(module.program, options.precision);
  if (!narrowing.any()) return module;
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
