// linear_cross_entropy and its gradients as a matrix product followed by cross_entropy.
#include "weft/graph/decompositions/decomposition.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

using Values = std::vector<Value>;

/// The operands as matrices: all row axes of x are merged into one.
struct Parts {
  Value x, weight, bias, targets;
  Shape rows;  // shape of x without its last axis
  bool transposed;
  MatmulOptions product;
  Attributes loss;

  Parts(const Node& node, Value x_in, Value weight_in, Value bias_in, Value targets_in)
      : weight(weight_in),
        bias(bias_in),
        rows(std::vector<Dim>(x_in.shape().begin(), x_in.shape().end() - 1)),
        transposed(node.attributes().flag("transpose_weight")) {
    Dim count = 1;
    for (const Dim& d : rows) count *= d;
    x = reshape(x_in, Shape{count, x_in.size(-1)});
    targets = reshape(targets_in, Shape{count});
    const std::string& own = node.attributes().text("precision");
    if (!own.empty()) product.precision = parse_precision(own);
    loss = {{"axis", std::int64_t{1}},
            {"ignore_index", node.attributes().integer("ignore_index")},
            {"label_smoothing", node.attributes().real("label_smoothing")}};
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
  /// Returns the loss and the log-sum-exp (lse) of each row.
  Values forward(Value logits_in) const {
    Node& node = x.graph().apply("cross_entropy", {logits_in, targets}, loss);
    return {node.output(0), node.output(1)};
  }
  /// Returns dx, dweight and dbias.
  Values backward(Value g, Value logits_in, Value lse) const {
    const Value d = x.graph()
                        .apply("cross_entropy_grad",
                               {reshape(g, targets.shape()), logits_in, targets, lse}, loss)
                        .output(0);
    const Value dx = multiply(d, false, weight, !transposed);
    const Value dweight = transposed ? multiply(d, true, x, false) : multiply(x, true, d, false);
    Shape all = rows;
    all.push_back(x.size(1));
    return {reshape(dx, all), dweight, bias.defined() ? sum(d, 0) : Value()};
  }
  Value by_row(Value v) const { return reshape(v, rows); }
};

Value at(const Values& in, std::size_t i) { return i < in.size() ? in[i] : Value(); }

Values decompose_forward(const Node& node, const Values& in, Graph&) {
  const Parts p(node, in[0], in[1], at(in, 2), in[3]);
  const Values out = p.forward(p.logits());
  return {p.by_row(out[0]), p.by_row(out[1])};
}

Values decompose_grad(const Node& node, const Values& in, Graph&) {
  const Parts p(node, in[1], in[2], at(in, 3), in[4]);
  return p.backward(in[0], p.logits(), reshape(in[5], p.targets.shape()));
}

Values decompose_both(const Node& node, const Values& in, Graph&) {
  const Parts p(node, in[1], in[2], at(in, 3), in[4]);
  const Value logits = p.logits();
  const Values out = p.forward(logits);
  const Values d = p.backward(in[0], logits, out[1]);
  return {p.by_row(out[0]), p.by_row(out[1]), d[0], d[1], d[2]};
}

}  // namespace

void add_linear_cross_entropy_decompositions(DecompositionSet& set) {
  set.add("linear_cross_entropy", decompose_forward);
  set.add("linear_cross_entropy_grad", decompose_grad);
  set.add("linear_cross_entropy_with_grad", decompose_both);
}

}  // namespace weft
