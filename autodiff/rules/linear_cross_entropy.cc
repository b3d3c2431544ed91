// Gradient of linear_cross_entropy: a fused op for the cotangent of the loss, and softmax(logits)
// for the cotangent of lse (log-sum-exp). The definitions of the ops are a matrix product followed
// by cross_entropy.
#include "weft/autodiff/rule.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/norm.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/ops/builtin.h"

namespace weft {
namespace {

using Values = std::vector<Value>;

/// The operands as matrices: all row axes of x are merged into one.
struct Parts {
  Value x, weight, bias;
  Shape rows;  // shape of x without its last axis
  bool transposed;
  MatmulOptions product;
  Attributes loss;

  Parts(const Attributes& attributes, Value x_in, Value weight_in, Value bias_in)
      : weight(weight_in),
        bias(bias_in),
        rows(std::vector<Dim>(x_in.shape().begin(), x_in.shape().end() - 1)),
        transposed(attributes.flag("transpose_weight")) {
    Dim count = 1;
    for (const Dim& d : rows) count *= d;
    x = reshape(x_in, Shape{count, x_in.size(-1)});
    const std::string& own = attributes.text("precision");
    if (!own.empty()) product.precision = parse_precision(own);
    loss = {{"axis", std::int64_t{1}},
            {"ignore_index", attributes.integer("ignore_index")},
            {"label_smoothing", attributes.real("label_smoothing")}};
  }

  Value logits() const {
    const Value y = multiply(x, false, weight, transposed);
    return bias.defined() ? y + bias : y;
  }
  Value multiply(Value a, bool transpose_a, Value b, bool transpose_b) const {
    MatmulOptions options = product;
    options.transpose_a = transpose_a;
    options.transpose_b = transpose_b;
    return matmul(a, b, options);
  }
  /// Merges or restores the row axes of a value that has one element per row.
  Value merged(Value v) const { return reshape(v, Shape{x.size(0)}); }
  Value by_row(Value v) const { return reshape(v, rows); }
  /// Returns the loss and the log-sum-exp (lse) of each row.
  Values forward(Value logits_in, Value targets) const {
    Node& node = x.graph().apply("cross_entropy", {logits_in, merged(targets)}, loss);
    return {node.output(0), node.output(1)};
  }
  /// Returns dx, dweight and dbias for the gradient `d` with respect to the logits.
  Values backward(Value d) const {
    const Value dx = multiply(d, false, weight, !transposed);
    const Value dweight = transposed ? multiply(d, true, x, false) : multiply(x, true, d, false);
    Shape all = rows;
    all.push_back(x.size(1));
    return {reshape(dx, all), dweight, bias.defined() ? sum(d, 0) : Value()};
  }
  /// As above, for the cotangent `g` of the loss.
  Values backward(Value g, Value logits_in, Value targets, Value lse) const {
    return backward(
        x.graph()
            .apply("cross_entropy_grad", {merged(g), logits_in, merged(targets), lse}, loss)
            .output(0));
  }
};

// d lse / d logits = softmax(logits). Materialises the full logits, which is acceptable because
// training does not need this gradient.
Values gradient_of_lse(const GradientContext& c) {
  const Parts p(c.attributes(), c.input(0), c.input(1), c.input(2));
  const Shape column{p.x.size(0), Dim(1)};
  return p.backward(softmax(p.logits(), 1) * reshape(c.cotangent(1), column));
}

Values gradient_linear_cross_entropy(const GradientContext& c) {
  Values result(3);
  if (c.has_cotangent(0)) {
    Node& node = c.graph().apply(
        "linear_cross_entropy_grad",
        {c.cotangent(), c.input(0), c.input(1), c.input(2), c.input(3), c.output(1)},
        c.attributes());
    result = {node.output(0), node.output(1), c.input(2).defined() ? node.output(2) : Value()};
  }
  if (!c.has_cotangent(1)) return result;
  const Values more = gradient_of_lse(c);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (!more[i].defined()) continue;
    result[i] = result[i].defined() ? result[i] + more[i] : more[i];
  }
  return result;
}

Value at(const Values& in, std::size_t i) { return i < in.size() ? in[i] : Value(); }

Values decompose_forward(const Node& node, const Values& in, Graph&) {
  const Parts p(node.attributes(), in[0], in[1], at(in, 2));
  const Values out = p.forward(p.logits(), in[3]);
  return {p.by_row(out[0]), p.by_row(out[1])};
}

Values decompose_grad(const Node& node, const Values& in, Graph&) {
  const Parts p(node.attributes(), in[1], in[2], at(in, 3));
  return p.backward(in[0], p.logits(), in[4], p.merged(in[5]));
}

Values decompose_both(const Node& node, const Values& in, Graph&) {
  const Parts p(node.attributes(), in[1], in[2], at(in, 3));
  const Value logits = p.logits();
  const Values out = p.forward(logits, in[4]);
  const Values d = p.backward(in[0], logits, in[4], out[1]);
  return {p.by_row(out[0]), p.by_row(out[1]), d[0], d[1], d[2]};
}

}  // namespace

void LinearCrossEntropyOps::add(RuleSet& rules) {
  rules.add("linear_cross_entropy", gradient_linear_cross_entropy);
  rules.define("linear_cross_entropy", decompose_forward);
  rules.define("linear_cross_entropy_grad", decompose_grad);
  rules.define("linear_cross_entropy_with_grad", decompose_both);
}

}  // namespace weft
