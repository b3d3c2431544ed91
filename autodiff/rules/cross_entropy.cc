// Gradients of cross_entropy and soft_cross_entropy: a fused op for the cotangent of the loss, and
// softmax(logits) for the cotangent of lse (log-sum-exp). Definitions of these ops in primitive
// ops.
#include <limits>

#include "weft/autodiff/rounded_lse.h"
#include "weft/autodiff/rule.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/norm.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

template <class NodeOrContext>
int class_axis(const NodeOrContext& of) {
  return static_cast<int>(of.attributes().integer("axis"));
}

/// Returns the gradient with respect to the logits. `loss_gradient` is the op that computes it for
/// the cotangent of the loss.
Value logits_gradient(const GradientContext& c, std::string_view loss_gradient) {
  const Value logits = c.input(0), lse = c.output(1);
  Value dx;
  if (c.has_cotangent(0)) {
    dx = c.graph()
             .apply(loss_gradient, {c.cotangent(), logits, c.input(1), lse}, c.attributes())
             .output(0);
  }
  if (c.has_cotangent(1)) {  // d lse / dx = softmax(x)
    const int axis = class_axis(c);
    const Value term = unsqueeze(c.cotangent(1), axis) * softmax(logits, axis);
    dx = dx.defined() ? dx + term : term;
  }
  return dx;
}

std::vector<Value> gradient_cross_entropy(const GradientContext& c) {
  return {logits_gradient(c, "cross_entropy_grad")};
}

/// Returns -ln softmax(x), or 0 for logits of -inf at positions at which `excluded` is true.
Value surprisal(const Value& x, int axis, const Value& excluded) {
  constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
  const Value log_p = log_softmax(x, axis);
  return -where(logical_and(excluded, equal(log_p, kMinusInfinity)), 0, log_p);
}

// The gradient with respect to the targets is computed from differences of logits, not from lse, so
// that it does not depend on a common offset of the logits.
std::vector<Value> gradient_soft_cross_entropy(const GradientContext& c) {
  std::vector<Value> result(2);
  if (c.needs(0)) result[0] = logits_gradient(c, "soft_cross_entropy_grad");
  if (c.needs(1) && c.has_cotangent(0)) {
    const int axis = class_axis(c);
    const Value g = (1 - c.attributes().real("label_smoothing")) * c.cotangent();
    result[1] = unsqueeze(g, axis) * surprisal(c.input(0), axis, equal(c.input(1), 0));
  }
  return result;
}

// -- Definitions ----------------------------------------------------------------------------------

using Values = std::vector<Value>;

struct Settings {
  int axis;
  std::int64_t ignore_index;
  double smoothing;

  explicit Settings(const Node& node)
      : axis(class_axis(node)),
        ignore_index(node.attributes().integer("ignore_index")),
        smoothing(node.attributes().real("label_smoothing")) {}
};

/// The targets. `ignored` is a mask of the ignored targets, which are replaced by class 0 in
/// `classes`.
struct Targets {
  Value ignored, classes;
  Targets(const Value& targets, const Settings& s)
      : ignored(equal(targets, s.ignore_index)), classes(where(ignored, 0, targets)) {}
};

Values decompose_cross_entropy(const Node& node, const Values& in, Graph&) {
  const Settings s(node);
  const Value x = in[0];
  const Targets targets(in[1], s);
  const Value nll = -log_softmax(x, s.axis);
  Value loss = squeeze(take_along_axis(nll, unsqueeze(targets.classes, s.axis), s.axis), s.axis);
  if (s.smoothing > 0) {
    loss = (1 - s.smoothing) * loss + s.smoothing * mean(nll, s.axis);
  }
  return {where(targets.ignored, 0, loss), logsumexp(x, s.axis)};
}

Values decompose_cross_entropy_grad(const Node& node, const Values& in, Graph& graph) {
  const Settings s(node);
  const Value x = in[1];
  const Targets targets(in[2], s);
  const Value ids = iota(graph, x.shape(), s.axis, in[2].dtype());
  const Value hit = cast(equal(ids, unsqueeze(targets.classes, s.axis)), x.dtype());
  const Value lse = unsqueeze(in[3], s.axis), e = exp(x - lse);
  const Value p = without_rounding_of_lse(e, lse, s.axis);
  Value d = p - (1 - s.smoothing) * hit;
  if (s.smoothing > 0) {
    const Value classes = dim_value(graph, x.shape()[s.axis], x.dtype());
    d = d - s.smoothing / classes;
  }
  const Value dx = unsqueeze(in[0], s.axis) * d;
  return {where(unsqueeze(targets.ignored, s.axis), 0, dx)};
}

Values decompose_soft_cross_entropy(const Node& node, const Values& in, Graph&) {
  const int axis = class_axis(node);
  const double smoothing = node.attributes().real("label_smoothing");
  const Value x = in[0], targets = in[1];
  Value loss = sum(targets * surprisal(x, axis, equal(targets, 0)), axis);
  if (smoothing > 0) loss = (1 - smoothing) * loss - smoothing * mean(log_softmax(x, axis), axis);
  return {loss, logsumexp(x, axis)};
}

Values decompose_soft_cross_entropy_grad(const Node& node, const Values& in, Graph& graph) {
  const int axis = class_axis(node);
  const double smoothing = node.attributes().real("label_smoothing");
  const Value x = in[1], lse = unsqueeze(in[3], axis);
  Value targets = in[2];
  if (smoothing > 0) {
    targets = (1 - smoothing) * targets + smoothing / dim_value(graph, x.size(axis), x.dtype());
  }
  const Value p = without_rounding_of_lse(exp(x - lse), lse, axis);
  return {unsqueeze(in[0], axis) * (p * sum(targets, axis, true) - targets)};
}

}  // namespace

void CrossEntropyOps::add(RuleSet& rules) {
  rules.add("cross_entropy", gradient_cross_entropy);
  rules.define("cross_entropy", decompose_cross_entropy);
  rules.define("cross_entropy_grad", decompose_cross_entropy_grad);
  rules.add("soft_cross_entropy", gradient_soft_cross_entropy);
  rules.define("soft_cross_entropy", decompose_soft_cross_entropy);
  rules.define("soft_cross_entropy_grad", decompose_soft_cross_entropy_grad);
}

}  // namespace weft
