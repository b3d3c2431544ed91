// Gradient of cross_entropy: a fused op for the cotangent of the loss, and softmax(logits) for the
// cotangent of lse (log-sum-exp). Definitions of both ops in primitive ops.
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

std::vector<Value> gradient_cross_entropy(const GradientContext& c) {
  const Value logits = c.input(0), lse = c.output(1);
  Value dx;
  if (c.has_cotangent(0)) {
    dx = c.graph()
             .apply("cross_entropy_grad", {c.cotangent(), logits, c.input(1), lse}, c.attributes())
             .output(0);
  }
  if (c.has_cotangent(1)) {  // d lse / dx = softmax(x)
    const int axis = static_cast<int>(c.attributes().integer("axis"));
    const Value term = unsqueeze(c.cotangent(1), axis) * softmax(logits, axis);
    dx = dx.defined() ? dx + term : term;
  }
  return {dx};
}

// -- Definitions ----------------------------------------------------------------------------------

using Values = std::vector<Value>;

struct Settings {
  int axis;
  std::int64_t ignore_index;
  double smoothing;

  explicit Settings(const Node& node)
      : axis(static_cast<int>(node.attributes().integer("axis"))),
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

}  // namespace

void CrossEntropyOps::add(RuleSet& rules) {
  rules.add("cross_entropy", gradient_cross_entropy);
  rules.define("cross_entropy", decompose_cross_entropy);
  rules.define("cross_entropy_grad", decompose_cross_entropy_grad);
}

}  // namespace weft
