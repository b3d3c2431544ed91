// Fuses a linear layer with the cross-entropy of its outputs, so that the logits, the largest
// intermediate tensor when a language model is trained, are never fully materialised:
//
//   logits = matmul(x, weight) [+ bias]        loss, lse = linear_cross_entropy(x, weight, bias, t)
//   loss, lse = cross_entropy(logits, t)   ->
//   d = cross_entropy_grad(g, logits, t, lse)  dx, dweight, dbias = linear_cross_entropy_grad(...)
//   dx, dweight, dbias of d
//
// If g does not depend on the loss (that is, unless a function of the loss is differentiated), both
// become one linear_cross_entropy_with_grad, which computes the logits only once. The pass applies
// only if the logits and d have no other readers.
#include <algorithm>
#include <optional>
#include <unordered_set>

#include "weft/graph/passes/match.h"
#include "weft/graph/passes/pipeline.h"

namespace weft {
namespace {

struct Linear {
  Value product, x, weight, bias;
  bool transposed = false;
};

// Matches `logits` as a product with a matrix, with an optional bias.
std::optional<Linear> match_linear(Value logits) {
  Linear l;
  l.product = logits;
  if (is(logits, "add")) {
    const Value a = logits.node().input(0), b = logits.node().input(1);
    l.product = is(a, "matmul") ? a : b;
    l.bias = is(a, "matmul") ? b : a;
    if (is(l.bias, "broadcast_to")) l.bias = l.bias.node().input(0);
    const Shape classes{logits.size(-1)};
    if (!(l.bias.shape() == classes) || !(l.product.type() == logits.type())) return std::nullopt;
  }
  if (!is(l.product, "matmul")) return std::nullopt;
  const Attributes& a = l.product.node().attributes();
  l.x = l.product.node().input(0);
  l.weight = l.product.node().input(1);
  if (a.flag("transpose_a") || l.weight.rank() != 2) return std::nullopt;
  // Narrow weights are used for inference, which needs the logits anyway.
  if (l.x.dtype() != l.weight.dtype() || l.x.dtype() != logits.dtype()) return std::nullopt;
  if (l.x.dtype() != DType::f32 && l.x.dtype() != DType::f64) return std::nullopt;
  l.transposed = a.flag("transpose_b");
  return l;
}

Value without_reshape(Value v) { return is(v, "reshape") ? v.node().input(0) : v; }

/// A match of the pattern in the program: one cross-entropy and its gradient.
class Head {
 public:
  Head(Node& loss, const Consumers& consumers, const PassOptions& pass)
      : loss_(loss), consumers_(consumers), pass_(pass) {}

  // Matches the pattern and fills in the members. Returns false if the pattern does not match.
  bool match() {
    const Value logits = loss_.input(0);
    if (loss_.instance() != 0 || loss_.attributes().integer("axis") != logits.rank() - 1) {
      return false;
    }
    const auto linear = match_linear(logits);
    if (!linear) return false;
    linear_ = *linear;
    if (consumers_.is_root(logits) || consumers_.is_root(linear_.product)) return false;
    if (linear_.bias.defined() && consumers_.uses(linear_.product).size() != 1) return false;
    for (const Use& use : consumers_.uses(logits)) {
      if (use.node == &loss_ && use.operand == 0) continue;
      if (!is(*use.node, "cross_entropy_grad") || grad_ != nullptr || !match_grad(*use.node)) {
        return false;
      }
    }
    return true;
  }

  // Builds the fused nodes in the same graph. Returns pairs of a value of the pattern and its
  // replacement.
  std::vector<std::pair<Value, Value>> replacements() const {
    Graph& graph = loss_.graph();
    const Attributes& given = loss_.attributes();
    const Attributes attributes = {
        {"transpose_weight", linear_.transposed},
        {"ignore_index", given.integer("ignore_index")},
        {"label_smoothing", given.real("label_smoothing")},
        {"precision", linear_.product.node().attributes().text("precision")}};
    const auto apply = [&](std::string_view op, std::vector<Value> inputs) -> Node& {
      const std::size_t before = graph.node_count();
      Node& node = graph.apply(op, std::move(inputs), attributes, graph.location(loss_));
      if (graph.node_count() != before) graph.copy_source_info(loss_, node);
      return node;
    };
    const Value x = linear_.x, weight = linear_.weight, bias = linear_.bias, t = loss_.input(1);
    std::vector<std::pair<Value, Value>> result;
    if (grad_ == nullptr) {
      Node& forward = apply("linear_cross_entropy", {x, weight, bias, t});
      return {{loss_.output(0), forward.output(0)}, {loss_.output(1), forward.output(1)}};
    }
    const Value g = grad_->input(0);
    int first_gradient = 0;
    Node* node = nullptr;
    if (depends_on_loss(g)) {
      Node& forward = apply("linear_cross_entropy", {x, weight, bias, t});
      result = {{loss_.output(0), forward.output(0)}, {loss_.output(1), forward.output(1)}};
      node = &apply("linear_cross_entropy_grad", {g, x, weight, bias, t, forward.output(1)});
    } else {
      node = &apply("linear_cross_entropy_with_grad", {g, x, weight, bias, t});
      result = {{loss_.output(0), node->output(0)}, {loss_.output(1), node->output(1)}};
      first_gradient = 2;
    }
    for (const auto& [value, which] : gradients_) {
      Value made = node->output(first_gradient + which);
      if (!(made.shape() == value.shape())) {
        made = graph.apply("reshape", {made}, {{"shape", value.shape()}}, {}).output(0);
      }
      result.emplace_back(value, made);
    }
    return result;
  }

 private:
  bool match_grad(Node& grad) {
    if (!(grad.input(2) == loss_.input(1)) || !(grad.input(3) == loss_.output(1)) ||
        !(grad.attributes() == loss_.attributes()) || grad.instance() != 0) {
      return false;
    }
    grad_ = &grad;
    return match_readers(grad.output(0));
  }

  // Returns true if every reader of d, or of d reshaped to a matrix, computes one of the gradients.
  bool match_readers(Value d) {
    if (consumers_.is_root(d)) return false;
    for (const Use& use : consumers_.uses(d)) {
      Node& node = *use.node;
      if (is(node, "reshape") && node.output(0).rank() == 2 &&
          node.output(0).size(1) == d.size(-1)) {
        if (!match_readers(node.output(0))) return false;
      } else if (is(node, "matmul")) {
        const int which = gradient_of_product(node, use.operand);
        if (which < 0) return false;
        gradients_.emplace_back(node.output(0), which);
      } else if (is(node, "sum") && linear_.bias.defined() && sums_rows(node)) {
        gradients_.emplace_back(node.output(0), 2);
      } else {
        return false;
      }
    }
    return true;
  }

  // Returns 0 for dx, 1 for dweight, and -1 for any other product.
  int gradient_of_product(const Node& node, std::size_t operand) const {
    const Attributes& a = node.attributes();
    const bool ta = a.flag("transpose_a"), tb = a.flag("transpose_b");
    if (a.text("precision") != linear_.product.node().attributes().text("precision")) return -1;
    const Value other = node.input(1 - operand);
    if (operand == 0 && !ta && other == linear_.weight && tb == !linear_.transposed) return 0;
    const bool rows = node.input(0).rank() == 2 && node.input(1).rank() == 2 &&
                      without_reshape(other) == without_reshape(linear_.x);
    const bool x_fits = rows && other.size(-1) == linear_.x.size(-1);
    if (x_fits && ta && !tb && operand == (linear_.transposed ? 0u : 1u)) return 1;
    return -1;
  }

  static bool sums_rows(const Node& node) {
    const auto& axes = node.attributes().integers("axes");
    const int rank = node.input(0).rank();
    if (static_cast<int>(axes.size()) != rank - 1) return false;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      if (axes[i] != static_cast<std::int64_t>(i)) return false;
    }
    return true;
  }

  // Inputs have smaller ids than their users, so the search stops at ids below that of the loss.
  bool depends_on_loss(Value g) const {
    std::vector<Node*> stack = {&g.node()};
    std::unordered_set<const Node*> seen;
    while (!stack.empty()) {
      Node* n = stack.back();
      stack.pop_back();
      pass_.count(1);
      if (n == &loss_) return true;
      if (n->id() < loss_.id() || !seen.insert(n).second) continue;
      for (const Value& v : n->inputs()) {
        if (v.defined()) stack.push_back(&v.node());
      }
    }
    return false;
  }

  Node& loss_;
  const Consumers& consumers_;
  const PassOptions& pass_;
  Linear linear_;
  Node* grad_ = nullptr;
  std::vector<std::pair<Value, int>> gradients_;  // value, and index of the gradient
};

}  // namespace

Module fuse_linear_cross_entropy(Module module, const PassOptions& pass) {
  if (module.graph->ops().find("linear_cross_entropy") == nullptr) return module;
  const std::vector<Node*> nodes = module.program.nodes();
  const bool has_loss = std::any_of(nodes.begin(), nodes.end(),
                                    [](const Node* n) { return is(*n, "cross_entropy"); });
  if (!has_loss) return module;
  const Consumers consumers(module.program);
  pass.count(nodes.size());
  std::vector<std::pair<Value, Value>> replaced;
  for (Node* n : nodes) {
    if (!is(*n, "cross_entropy")) continue;
    Head head(*n, consumers, pass);
    if (!head.match()) continue;
    for (const auto& pair : head.replacements()) replaced.push_back(pair);
  }
  if (replaced.empty()) return module;
  // Copies the replacements first, so that all nodes copied afterwards read them.
  return clone_program(module.program, {.copy_first = [&](Cloner& cloner) {
                         for (const auto& [from, to] : replaced) cloner.set(from, cloner.copy(to));
                       }});
}

}  // namespace weft
