// Stores activations as bfloat16 at precision `medium`. This halves the memory and the memory
// traffic of activations that are kept for the backward pass. There are two cases.
//
// 1. A value that only matrix products at `medium` read, and at least two of them. The products
//    round these operands anyway.
//
//      matmul(x, w), matmul(x, g)   ->   n = cast(x, bf16); matmul(n, w), matmul(n, g)
//
// 2. A value that consists of results of products at `medium`, for example the operand of GELU,
//    which elementwise ops read again after another product has run. A product at `medium` already
//    has an error of up to 2^-7 of the sum of its terms' magnitudes; rounding its result adds 2^-9
//    of the result. Ops that run next to the product still read the exact value.
//
//      h = matmul(x, w) + b; gelu(h); ...; g * gelu'(h)
//        ->  h = matmul(x, w) + b; n = cast(h, bf16); gelu(h); ...; g * gelu'(cast(n, f32))
//
// The pass `fuse` makes the producer write bfloat16 directly, and makes the late readers widen it
// in registers, so that no additional pass over memory is needed.
//
// In the first case, the results are bit-exact on hardware with native bfloat16 products. If
// `medium` is computed with fused multiply-adds, the results have the error that `medium` allows.
// Values with other readers are left unchanged: an additional narrow copy would cost memory instead
// of saving it.
#include <algorithm>
#include <unordered_map>

#include "weft/graph/passes/match.h"
#include "weft/graph/passes/pipeline.h"
#include "weft/ops/fusion/tile_program.h"

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

Value converted(const Value& v, DType dtype, Graph& target) {
  return target.apply("cast", {v}, {{"dtype", dtype}}, {}).output(0);
}

class Narrowing {
 public:
  Narrowing(const Program& program, Precision fallback)
      : precision_(program.precision().value_or(fallback)), consumers_(program) {
    for (Node* node : consumers_.nodes()) {
      int before = 0;
      for (const Value& v : node->inputs()) {
        if (v.defined()) before = std::max(before, products_until(v));
      }
      products_before_[node] = before;
      consist_of_products_[node] = find_consists_of_products(*node);
      has_products_ = has_products_ || rounds(*node);
    }
    const auto& nodes = consumers_.nodes();
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) delay(**node);
  }

  bool has_products() const { return has_products_; }
  /// Returns true if the node is an f32 matrix product at precision `medium`.
  bool rounds(const Node& node) const {
    if (!is(node, "matmul") || node.type(0).dtype != DType::f32) return false;
    const std::string& own = node.attributes().text("precision");
    return (own.empty() ? precision_ : parse_precision(own)) == Precision::medium;
  }
  /// Returns true if `reader` shall read its operand `i` as bfloat16.
  bool narrows(const Node& reader, int i) {
    const Value operand = reader.input(i);
    if (!operand.defined() || is(reader, "reshape")) return false;
    const Value base = base_of(operand);
    return (rounds(reader) || is_late(reader, base)) && narrows(base);
  }
  /// Returns true if a copy of the value, which is not a reshape, is stored as bfloat16.
  bool narrows(const Value& base) {
    if (base.dtype() != DType::f32 || base.node().op().has(Trait::leaf)) return false;
    const auto [known, first] = narrows_.emplace(base, false);
    if (first) known->second = find_narrows(base);
    return known->second;
  }

 private:
  /// Returns the largest number of products at `medium` on a path that ends with this value.
  int products_until(const Value& v) const {
    return products_before_.at(&v.node()) + (rounds(v.node()) ? 1 : 0);
  }
  /// Returns true if `reader` runs after products that follow those that `base` depends on.
  bool is_late(const Node& reader, const Value& base) const {
    return products_before_.at(&reader) > products_until(base);
  }
  bool is_step(const Node& node) const {
    return can_be_step(node.op(), node.attributes(), node.graph().ops());
  }

  /// Elementwise steps run together with their first reader. The derivative of GELU, for example,
  /// depends only on values of the forward pass but is computed in the backward pass.
  void delay(Node& node) {
    if (consumers_.is_root(node) || (!is_step(node) && !is(node, "reshape"))) return;
    const std::vector<Node*> readers = consumers_.readers(node);
    if (readers.empty()) return;
    int first = products_before_.at(readers.front());
    for (const Node* reader : readers) first = std::min(first, products_before_.at(reader));
    products_before_[&node] = std::max(products_before_[&node], first);
  }

  /// Returns true for products and for their rearranged, scaled or shifted elements.
  bool find_consists_of_products(const Node& node) const {
    if (rounds(node)) return true;
    const auto is_product = [&](const Value& v) {
      return v.defined() && consist_of_products_.at(&v.node());
    };
    const std::string& name = node.op().name;
    if (name == "reshape" || name == "permute" || name == "slice" || name == "neg")
      return is_product(node.input(0));
    if (name != "add" && name != "sub" && name != "mul") return false;
    const auto is_parameter = [](const Value& v) {
      const Value base = base_of(v);
      return is(base, "variable") || is(base, "constant");
    };
    const Value a = node.input(0), b = node.input(1);
    return (is_product(a) && is_parameter(b)) || (is_parameter(a) && is_product(b));
  }

  bool find_narrows(const Value& base) const {
    int products = 0, early = 0, late = 0;
    std::vector<Value> views = {base};
    while (!views.empty()) {
      const Value view = views.back();
      views.pop_back();
      if (consumers_.is_root(view)) return false;
      for (const Use& use : consumers_.uses(view)) {
        Node& reader = *use.node;
        if (is(reader, "reshape")) {
          views.push_back(reader.output(0));
        } else if (rounds(reader)) {
          ++products;
        } else if (!is_late(reader, base)) {
          ++early;
        } else if (is_step(reader)) {
          ++late;
        } else {
          return false;
        }
      }
    }
    if (late > 0) return consist_of_products_.at(&base.node());
    return early == 0 && products > 1;
  }

  const Precision precision_;
  const Consumers consumers_;
  bool has_products_ = false;
  /// The number of products at `medium` on a path to the node, after which it runs.
  std::unordered_map<const Node*, int> products_before_;
  std::unordered_map<const Node*, bool> consist_of_products_;
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
    std::vector<Value> operands = inputs;
    bool any = false;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!narrowing.narrows(node, static_cast<int>(i))) continue;
      const Value narrow =
          same_view(inputs[i], converted(base_of(inputs[i]), DType::bf16, target), target);
      operands[i] = narrowing.rounds(node) ? narrow : converted(narrow, DType::f32, target);
      any = true;
    }
    const bool kept = !is(node, "reshape") && node.output_count() == 1 &&
                      narrowing.narrows(node.graph().node(node.id()).output(0));
    if (!any && !kept) return {};
    const Value copy =
        target.apply(node.op(), operands, node.attributes(), {}, node.instance()).output(0);
    // The narrow value follows its producer, so that `fuse` finds quickly that nothing is between.
    if (kept) converted(copy, DType::bf16, target);
    return {copy};
  };
  return clone_program(module.program, clone);
}

}  // namespace weft
