#include "weft/serialization/onnx/import/composites.h"

#include <cmath>
#include <numbers>
#include <optional>
#include <string_view>
#include <utility>

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/attention.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/norm.h"
#include "weft/graph/functions/shape.h"

namespace weft::onnx {
namespace {

bool is_op(Value v, std::string_view op) { return v.node().op().name == op; }

/// Returns true for a parameter of the file that is trained.
bool is_trained(Value v) {
  return is_op(v, "variable") && v.graph().variable_info(v.node()).trainable &&
         v.graph().variable_info(v.node()).kind == VariableKind::parameter;
}

/// Returns the value of a floating-point constant or initialiser with one element. Callers
/// that must not fix the value of a trained parameter also check is_trained().
std::optional<double> number(Value v) {
  if (!is_floating(v.dtype())) return std::nullopt;
  if (is_op(v, "variable") && v.shape().numel() == Dim(1)) {
    const Initializer& initial = v.graph().variable_info(v.node()).initializer;
    if (initial.kind == Initializer::Kind::constant) return initial.a;
  }
  if (!is_op(v, "constant")) return std::nullopt;
  const Tensor& tensor = v.node().attributes().tensor("value");
  if (tensor.numel() != 1) return std::nullopt;
  return tensor.at(0);
}

/// Returns true if a constant of this dtype has the value `expected`, up to its rounding.
bool is_about(double value, double expected, DType dtype) {
  const double tolerance = dtype == DType::f64 ? 1e-14 : 4e-7;
  return std::abs(value - expected) <= tolerance * std::abs(expected);
}
bool is_number(Value v, double expected) {
  const auto value = number(v);
  return value && is_about(*value, expected, v.dtype());
}

/// The operands of a commutative operation with a constant as one operand.
struct WithNumber {
  Value x;
  double number = 0;
};
std::optional<WithNumber> with_number(Value v, std::string_view op) {
  if (!is_op(v, op)) return std::nullopt;
  for (const std::size_t i : {0, 1}) {
    const Value x = v.node().input(1 - i);
    // The constant must not add axes.
    if (const auto n = number(v.node().input(i)); n && x.shape() == v.shape())
      return WithNumber{x, *n};
  }
  return std::nullopt;
}

/// x * factor, where x is no product with a constant.
struct Scaled {
  Value x;
  double factor = 1;
  double trained = 1;  // the part of the factor that consists of trained parameters
};
Scaled without_factors(Value v) {
  Scaled result{v};
  for (;;) {
    const Node& node = result.x.node();
    const bool product = is_op(result.x, "mul");
    if (!product && !is_op(result.x, "div")) return result;
    bool found = false;
    for (const std::size_t i : {1, 0}) {
      if (i == 0 && !product) break;  // number / x
      const Value x = node.input(1 - i), scalar = node.input(i);
      const auto n = number(scalar);
      // The constant must not add axes.
      if (!n || *n == 0 || !(x.shape() == result.x.shape())) continue;
      const double factor = product ? *n : 1 / *n;
      result = {x, result.factor * factor, result.trained * (is_trained(scalar) ? factor : 1)};
      found = true;
      break;
    }
    if (!found) return result;
  }
}

bool is_square_of(Value v, Value x) {
  if (is_op(v, "square")) return v.node().input(0) == x;
  if (is_op(v, "mul")) return v.node().input(0) == x && v.node().input(1) == x;
  return is_op(v, "pow") && v.node().input(0) == x && is_number(v.node().input(1), 2);
}
bool is_cube_of(Value v, Value x) {
  if (is_op(v, "pow")) return v.node().input(0) == x && is_number(v.node().input(1), 3);
  if (!is_op(v, "mul")) return false;
  const Value a = v.node().input(0), b = v.node().input(1);
  return (a == x && is_square_of(b, x)) || (b == x && is_square_of(a, x));
}

// -- Normalisation --------------------------------------------------------------------------------

/// Returns the number of last axes over which `v` is a mean with keepdims, or 0.
int mean_axes(Value v) {
  if (!is_op(v, "mean") || !v.node().attributes().flag("keepdims")) return 0;
  const auto& axes = v.node().attributes().integers("axes");
  const auto count = static_cast<int>(axes.size());
  for (int i = 0; i < count; ++i) {
    if (axes[static_cast<std::size_t>(i)] != v.rank() - count + i) return 0;
  }
  return count;
}

/// sqrt(mean(x^2) + eps) over the last axes.
struct RootMeanSquare {
  Value squared;  // x^2
  int axes = 0;
  double eps = 0;
};
std::optional<RootMeanSquare> root_mean_square(Value v) {
  if (!is_op(v, "sqrt")) return std::nullopt;
  const auto sum = with_number(v.node().input(0), "add");
  if (!sum || sum->number < 0) return std::nullopt;
  const int axes = mean_axes(sum->x);
  if (axes == 0) return std::nullopt;
  return RootMeanSquare{sum->x.node().input(0), axes, sum->number};
}

/// Returns x / sqrt(mean(x^2) + eps) as a normalisation, or an undefined Value.
Value normalised(Value x, const RootMeanSquare& root) {
  if (!is_square_of(root.squared, x)) return {};
  if (is_op(x, "sub")) {
    const Value whole = x.node().input(0), mean = x.node().input(1);
    if (mean_axes(mean) == root.axes && mean.node().input(0) == whole)
      return layer_norm(whole, {}, {}, {.axes = root.axes, .eps = root.eps});
  }
  return root.axes == 1 ? rms_norm(x, {}, root.eps) : Value();
}

Value fused_quotient(Value last) {
  const Value x = last.node().input(0);
  const auto root = root_mean_square(last.node().input(1));
  return root ? normalised(x, *root) : Value();
}

/// 1 / sqrt(...), in any of its forms.
std::optional<RootMeanSquare> reciprocal_root(Value v) {
  if (is_op(v, "reciprocal")) return root_mean_square(v.node().input(0));
  if (is_op(v, "div") && is_number(v.node().input(0), 1))
    return root_mean_square(v.node().input(1));
  return std::nullopt;
}

/// Adds a gain or a bias to a normalisation that does not have it yet.
Value with_parameter(Value norm, Value parameter, bool is_gain) {
  const bool layer = is_op(norm, "layer_norm");
  if (!layer && !(is_gain && is_op(norm, "rms_norm"))) return {};
  const Node& node = norm.node();
  const Value gain = node.input(1), bias = node.input(2), x = node.input(0);
  if (bias.defined() || (is_gain && gain.defined())) return {};
  const Attributes& attributes = node.attributes();
  const int axes = layer ? static_cast<int>(attributes.integer("axes")) : 1;
  if (parameter.rank() != axes || parameter.dtype() != norm.dtype()) return {};
  for (int i = 0; i < axes; ++i) {
    if (parameter.shape()[i] != norm.size(i - axes)) return {};
  }
  const double eps = attributes.real("eps");
  if (!layer) return rms_norm(x, parameter, eps);
  return layer_norm(x, is_gain ? parameter : gain, is_gain ? Value() : parameter,
                    {.axes = axes, .eps = eps});
}

// -- Activations ----------------------------------------------------------------------------------

/// Returns true if v = sqrt(2 / pi) (x + 0.044715 x^3) in one of its two forms.
bool is_gelu_polynomial(Value v, Value x) {
  const double factor = std::sqrt(2 / std::numbers::pi), cubic = 0.044715;
  const Scaled outer = without_factors(v);
  if (!is_about(outer.factor, factor, v.dtype())) return false;
  const auto either = [&](auto&& matches) {
    const Value a = outer.x.node().input(0), b = outer.x.node().input(1);
    return matches(a, b) || matches(b, a);
  };
  if (is_op(outer.x, "add")) {
    return either([&](Value a, Value b) {
      const Scaled term = without_factors(b);
      return a == x && is_cube_of(term.x, x) && is_about(term.factor, cubic, v.dtype());
    });
  }
  if (!is_op(outer.x, "mul")) return false;
  return either([&](Value a, Value b) {  // x (1 + 0.044715 x^2)
    const auto sum = with_number(b, "add");
    if (a != x || !sum || sum->number != 1) return false;
    const Scaled term = without_factors(sum->x);
    return (is_square_of(term.x, x) && is_about(term.factor, cubic, v.dtype())) ||
           // (0.044715 x) x
           (is_op(term.x, "mul") && term.factor == 1 && [&] {
             const Scaled left = without_factors(term.x.node().input(0));
             const Scaled right = without_factors(term.x.node().input(1));
             return left.x == x && right.x == x &&
                    is_about(left.factor * right.factor, cubic, v.dtype());
           }());
  });
}

/// `gate` (1 + erf(x / sqrt(2))) or (1 + tanh(...)), times `factor`.
Value gelu_of(Value x, Value gate, double factor) {
  const auto sum = with_number(gate, "add");
  if (!sum || sum->number != 1 || !is_about(factor, 0.5, x.dtype())) return {};
  if (is_op(sum->x, "erf")) {
    const Scaled scaled = without_factors(sum->x.node().input(0));
    const bool matches =
        scaled.x == x && is_about(scaled.factor, std::numbers::sqrt2 / 2, x.dtype());
    return matches ? gelu_erf(x) : Value();
  }
  const bool matches = is_op(sum->x, "tanh") && is_gelu_polynomial(sum->x.node().input(0), x);
  return matches ? gelu_tanh(x) : Value();
}

Value fused_product(Value last) {
  // gelu: the factor 0.5 may be at any place of x (1 + ...).
  const Scaled outer = without_factors(last);
  const auto pairs = [&](Value v, auto&& fused_pair) -> Value {
    if (!is_op(v, "mul")) return {};
    const Value a = v.node().input(0), b = v.node().input(1);
    if (const Value result = fused_pair(a, b); result.defined()) return result;
    return fused_pair(b, a);
  };
  Value result = pairs(outer.x, [&](Value a, Value b) {
    const Scaled x = without_factors(a), gate = without_factors(b);
    if (x.x.shape() != last.shape()) return Value();
    return gelu_of(x.x, gate.x, outer.factor * x.factor * gate.factor);
  });
  if (result.defined()) return result;
  return pairs(last, [&](Value a, Value b) -> Value {
    if (is_op(b, "sigmoid") && b.node().input(0) == a) return silu(a);
    if (const auto root = reciprocal_root(b)) return normalised(a, *root);
    return with_parameter(a, b, true);
  });
}

Value fused_sum(Value last) {
  const Value a = last.node().input(0), b = last.node().input(1);
  const Value result = with_parameter(a, b, false);
  return result.defined() ? result : with_parameter(b, a, false);
}

// -- Attention ------------------------------------------------------------------------------------

/// softmax(scale q k^T + bias), restricted to `mask`.
struct Scores {
  Value q, k;                     // k [..., Lk, D]
  double scale = 1, trained = 1;  // see Scaled
  Value bias, mask;               // undefined if absent
  bool is_biased() const { return bias.defined() || mask.defined(); }
};

/// Returns x with its last two axes exchanged. An existing permutation is composed with it.
Value turned(Value x) {
  if (!is_op(x, "permute")) return transpose(x);
  const auto& order = x.node().attributes().integers("order");
  std::vector<int> composed(order.begin(), order.end());
  std::swap(composed[composed.size() - 2], composed[composed.size() - 1]);
  bool identity = true;
  for (std::size_t i = 0; i < composed.size(); ++i) identity &= composed[i] == static_cast<int>(i);
  return identity ? x.node().input(0) : permute(x.node().input(0), composed);
}

/// Finds the product of queries and keys in `v`, below factors, biases and masks. `depth` limits
/// their number.
bool find_scores(Value v, Scores& scores, int depth = 6) {
  if (depth == 0 || !is_floating(v.dtype())) return false;
  const Node& node = v.node();
  const Scaled scaled = without_factors(v);
  if (scaled.x != v) {
    if (!find_scores(scaled.x, scores, depth - 1) || scores.is_biased()) return false;
    scores.scale *= scaled.factor;
    scores.trained *= scaled.trained;
    return true;
  }
  if (is_op(v, "matmul")) {
    const Scaled q = without_factors(node.input(0)), k = without_factors(node.input(1));
    scores.scale = q.factor * k.factor;
    scores.trained = q.trained * k.trained;
    scores.q = node.attributes().flag("transpose_a") ? turned(q.x) : q.x;
    scores.k = node.attributes().flag("transpose_b") ? k.x : turned(k.x);
    return true;
  }
  if (is_op(v, "add")) {
    for (const std::size_t i : {0, 1}) {
      const Value inner = node.input(i), bias = node.input(1 - i);
      Scores found;
      if (inner.shape() != v.shape() || !find_scores(inner, found, depth - 1)) continue;
      scores = found;
      scores.bias = found.bias.defined() ? found.bias + bias : bias;
      return true;
    }
  }
  if (is_op(v, "where")) {
    const Value condition = node.input(0);
    for (const std::size_t i : {1, 2}) {
      const Value inner = node.input(i);
      const auto otherwise = number(node.input(3 - i));
      if (!otherwise || inner.shape() != v.shape()) continue;
      // A bias of -1e9 or less replaces scores in f32, because it absorbs them.
      const bool minus_infinity = std::isinf(*otherwise) && *otherwise < 0;
      if (!minus_infinity && (v.dtype() != DType::f32 || *otherwise > -1e9)) continue;
      // Two large biases could overflow.
      if (!find_scores(inner, scores, depth - 1) || (!minus_infinity && scores.is_biased()))
        return false;
      const Value kept = i == 1 ? condition : logical_not(condition);
      if (minus_infinity) {
        scores.mask = scores.mask.defined() ? logical_and(scores.mask, kept) : kept;
      } else {
        const Value bias = where(kept, zeros(v.graph(), v.dtype(), Shape{}), *otherwise);
        scores.bias = scores.bias.defined() ? scores.bias + bias : bias;
      }
      return true;
    }
  }
  return false;
}

/// Returns x with axes [B, H, Lq, Lk], each of full size or of size 1; undefined if the sizes are
/// not known to match.
Value with_score_axes(Value x, const Shape& scores) {
  if (!x.defined() || x.rank() > scores.rank()) return {};
  Shape shape;
  for (int axis = 0; axis < scores.rank(); ++axis) {
    const int own = axis - scores.rank() + x.rank();
    shape.push_back(own < 0 ? Dim(1) : x.shape()[own]);
    if (shape[axis] != Dim(1) && !x.graph().facts().equal(shape[axis], scores[axis])) return {};
  }
  return reshape(x, shape);
}

Value fused_attention(Value last) {
  const Value weights = last.node().input(0);
  Value v = last.node().input(1);
  const int rank = last.rank();
  const Attributes& product = last.node().attributes();
  if (!is_op(weights, "softmax") || (rank != 3 && rank != 4) || v.rank() != rank ||
      product.flag("transpose_a") || !product.text("precision").empty() ||
      weights.node().attributes().integer("axis") != rank - 1 || weights.rank() != rank) {
    return {};
  }
  Scores scores;
  if (!find_scores(weights.node().input(0), scores)) return {};
  const Shape shape = weights.shape();
  Value q = scores.q, k = scores.k;
  if (product.flag("transpose_b")) v = turned(v);
  const DimFacts& facts = last.graph().facts();
  if (q.rank() != rank || k.rank() != rank) return {};
  for (int axis = 0; axis < rank - 2; ++axis) {
    for (const Value x : {q, k, v}) {
      if (!facts.equal(x.shape()[axis], shape[axis])) return {};
    }
  }
  if (!facts.equal(k.size(-2), v.size(-2)) || !std::isfinite(scores.scale)) return {};
  // A trained temperature has any value, but constants that were written as parameters have this
  // one.
  if (scores.trained != 1 &&
      !(q.size(-1).is_constant() &&
        is_about(scores.trained, 1 / std::sqrt(static_cast<double>(q.size(-1).constant())),
                 last.dtype()))) {
    return {};
  }
  AttentionOptions options{.scale = scores.scale};
  // With 3 axes, axis 0 is that of the batch, and there is one head.
  const auto four_axes = [&](Value x) { return rank == 3 ? unsqueeze(x, 1) : x; };
  for (const auto& [from, to] :
       {std::pair{scores.bias, &options.bias}, std::pair{scores.mask, &options.mask}}) {
    if (!from.defined()) continue;
    const Value aligned = with_score_axes(from, shape);
    if (!aligned.defined()) return {};
    *to = four_axes(aligned);
  }
  const Value out = attention(four_axes(q), four_axes(k), four_axes(v), options);
  return rank == 3 ? squeeze(out, 1) : out;
}

}  // namespace

Value fused(Value last) {
  if (last.dtype() != DType::f32 && last.dtype() != DType::f64) return last;
  Value result;
  if (is_op(last, "mul"))
    result = fused_product(last);
  else if (is_op(last, "add"))
    result = fused_sum(last);
  else if (is_op(last, "div"))
    result = fused_quotient(last);
  else if (is_op(last, "matmul"))
    result = fused_attention(last);
  return result.defined() && result.shape() == last.shape() ? result : last;
}

}  // namespace weft::onnx
