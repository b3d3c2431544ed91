// Stores activations as bfloat16 at precision `medium`. This halves the memory and the memory
// traffic of activations that are kept for the backward pass. There are two cases.
//
// 1. A value that only matrix products at `medium` read, and at least two of them. The products
//    round these operands anyway. Attention and its gradient count as products if both read
//    bfloat16 queries, keys and values, so that the gradient recomputes the scores that were
//    normalised.
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

/// Returns true for ops that select or rearrange elements.
bool is_view(const Node& node) {
  return is(node, "reshape") || is(node, "permute") || is(node, "slice");
}

/// Returns the value that `v` is derived from by views, or `v` itself.
Value base_of(Value v) {
  while (is_view(v.node())) v = v.node().input(0);
  return v;
}

/// Applies the views that derive `view` from its base to `to`.
Value same_view(const Value& view, const Value& to, Graph& target) {
  std::vector<const Node*> views;
  for (Value v = view; is_view(v.node()); v = v.node().input(0)) views.push_back(&v.node());
  Value result = to;
  for (auto it = views.rbegin(); it != views.rend(); ++it)
    result = target.apply((*it)->op(), {result}, (*it)->attributes(), {}).output(0);
  return result;
}

/// Returns the attention of which `node` is the gradient, `node` itself if it is an attention, or
/// null.
Node* attention_of(Node& node) {
  if (is(node, "attention")) return &node;
  if (!is(node, "attention_grad") || !is(node.input(2), "attention")) return nullptr;
  Node& forward = node.input(2).node();
  bool same = node.input(1) == forward.output(0);
  for (std::size_t i = 0; i < 3; ++i) same = same && node.input(3 + i) == forward.input(i);
  return same ? &forward : nullptr;
}
/// Returns true if operand `i` of attention or its gradient is q, k, v or out.
bool attention_reads_narrow(const Node& node, std::size_t i) {
  return is(node, "attention") ? i < 3 : i == 1 || (i >= 3 && i < 6);
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
      if (is(*node, "attention")) find_attention(*node);
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
  bool narrows(Node& reader, std::size_t i) {
    const Value operand = reader.input(i);
    if (!operand.defined() || is_view(reader)) return false;
    const Value base = base_of(operand);
    if (reads_narrow(reader)) return attention_reads_narrow(reader, i);
    return (rounds(reader) || is_late(reader, base)) && narrows(base);
  }
  /// Returns true for attention, or its gradient, with narrow operands.
  bool reads_narrow(Node& node) const {
    const Node* attention = attention_of(node);
    if (attention == nullptr) return false;
    const auto& values = narrow_attentions_.at(attention);
    return !values.empty() && std::all_of(values.begin(), values.end(), [&](const Value& v) {
      return v.dtype() == DType::f32 && !v.node().op().has(Trait::leaf) && find_narrows(v);
    });
  }
  /// Returns true if a copy of the value, which is not a view, is stored as bfloat16.
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
    if (consumers_.is_root(node) || (!is_step(node) && !is_view(node))) return;
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
    if (is_view(node) || name == "neg") return is_product(node.input(0));
    if (name != "add" && name != "sub" && name != "mul") return false;
    const auto is_parameter = [](const Value& v) {
      const Value base = base_of(v);
      return is(base, "variable") || is(base, "constant");
    };
    const Value a = node.input(0), b = node.input(1);
    return (is_product(a) && is_parameter(b)) || (is_parameter(a) && is_product(b));
  }

  /// Collects the values that must be narrow if an attention and its gradient shall read them.
  void find_attention(Node& node) {
    std::vector<Value>& values = narrow_attentions_[&node];
    if (precision_ != Precision::medium || node.type(0).dtype != DType::f32) return;
    if (node.graph().ops().find("attention_grad_narrow") == nullptr) return;
    bool gradient = false;
    for (Node* reader : consumers_.readers(node)) {
      if (!is(*reader, "attention_grad")) continue;
      gradient = true;
      if (attention_of(*reader) != &node) return;
    }
    if (!gradient) return;
    for (std::size_t i = 0; i < 3; ++i) values.push_back(base_of(node.input(i)));
    values.push_back(node.output(0));
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
        if (is_view(reader)) {
          views.push_back(reader.output(0));
        } else if (rounds(reader) || reads_as_product(use)) {
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

  bool reads_as_product(const Use& use) const {
    const Node* attention = attention_of(*use.node);
    return attention != nullptr && !narrow_attentions_.at(attention).empty() &&
           attention_reads_narrow(*use.node, use.operand);
  }

  const Precision precision_;
  const Consumers consumers_;
  bool has_products_ = false;
  /// The number of products at `medium` on a path to the node, after which it runs.
  std::unordered_map<const Node*, int> products_before_;
  std::unordered_map<const Node*, bool> consist_of_products_;
  std::unordered_map<const Node*, std::vector<Value>> narrow_attentions_;
  std::unordered_map<Value, bool, ValueHash> narrows_;  // cached results, keyed by base
};

}  // namespace

Module bf16_activations(Module module, const PassOptions& options) {
  Narrowing narrowing(module.program, options.precision);
  if (!narrowing.has_products()) return module;
  CloneOptions clone;
  clone.steps = options.steps;
  clone.rewrite = [&](const Node& from, const std::vector<Value>& inputs,
                      Graph& target) -> std::vector<Value> {
    Node& node = from.graph().node(from.id());
    std::vector<Value> operands = inputs;
    const bool attends = narrowing.reads_narrow(node);
    bool any = false;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      if (!narrowing.narrows(node, i)) continue;
      const Value narrow =
          same_view(inputs[i], converted(base_of(inputs[i]), DType::bf16, target), target);
      const bool wide = !attends && !narrowing.rounds(node);
      operands[i] = wide ? converted(narrow, DType::f32, target) : narrow;
      any = true;
    }
    const bool kept = !is_view(node) && narrowing.narrows(node.output(0));
    if (!any && !kept) return {};
    const OpRecord& op = attends ? target.ops().at(node.op().name + "_narrow") : node.op();
    Node& copy = target.apply(op, operands, node.attributes(), {}, node.instance());
    // The narrow value follows its producer, so that `fuse` finds quickly that nothing is between.
    if (kept) converted(copy.output(0), DType::bf16, target);
    std::vector<Value> results;
    for (int o = 0; o < copy.output_count(); ++o) results.push_back(copy.output(o));
    return results;
  };
  return clone_program(module.program, clone);
}

}  // namespace weft
