#include "weft/graph/functions/loss.h"

#include <fmt/format.h>

#include <limits>

#include "weft/core/error.h"
#include "weft/core/option.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/axes.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/reduced_loss.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/functions/shards.h"

namespace weft {
Value reduced(const Value& loss, Reduction reduction, std::string_view function,
              SourceLocation loc) {
  switch (reduction) {
    case Reduction::mean: return mean(loss);
    case Reduction::sum: return sum(loss);
    case Reduction::none: return loss;
    case Reduction::shard_mean:
      return shard_mean(sum(loss), dim_value(loss.graph(), loss.shape().numel(), DType::i64));
    case Reduction::batch_mean: break;
  }
  if (loss.rank() == 0) {
    loss.graph().fail(ShapeError("batch_mean divides by the size of the first axis, but the losses "
                                 "are a scalar"),
                      function, {loss}, loc);
  }
  return sum(loss) / dim_value(loss.graph(), loss.size(0), loss.dtype());
}

namespace {

// Returns true if broadcasting against `other` repeats a value of this shape.
bool is_repeated(const Shape& shape, const Shape& other) {
  for (int i = 1; i <= other.rank(); ++i) {
    const bool one = i > shape.rank() || shape[shape.rank() - i] == Dim(1);
    if (one && other[other.rank() - i] != Dim(1)) return true;
  }
  return false;
}

// Resolves the operands of an elementwise loss. One operand may broadcast to the other. If both
// would broadcast, as with [batch, 1] and [batch], every row would be compared with every other
// row, so ShapeError is thrown.
ArgPair loss_pair(const Arg& x, const Arg& target, std::string_view function) {
  ArgPair p = resolve_pair(x, target, function);
  const Shape &a = p.a.shape(), &b = p.b.shape();
  if (is_repeated(a, b) && is_repeated(b, a)) {
    p.a.graph().fail(
        ShapeError(fmt::format("x {} and target {} would both be broadcast, so that each element "
                               "would be compared with several elements of the other; give both "
                               "the same shape with squeeze(), unsqueeze() or reshape()",
                               a.str(), b.str())),
        function, {p.a, p.b}, p.loc);
  }
  return p;
}

// Returns the loss of each position for targets that are class indices.
Value class_loss(const Value& x, const Value& targets, const CrossEntropyOptions& options,
                 std::string_view function, SourceLocation loc) {
  const std::int64_t axis = resolve_axis(options.class_axis, x, function, loc);
  return x.graph()
      .apply("cross_entropy", {x, targets},
             {{"axis", axis},
              {"ignore_index", options.ignore_index},
              {"label_smoothing", options.label_smoothing}},
             loc)
      .output(0);
}

// Reduces the losses of positions. Ignored targets do not count.
Value reduced_classes(const Value& loss, const Value& targets, std::int64_t ignore_index,
                      Reduction reduction, std::string_view function, SourceLocation loc) {
  if (reduction != Reduction::mean && reduction != Reduction::shard_mean) {
    return reduced(loss, reduction, function, loc);
  }
  const bool shards = reduction == Reduction::shard_mean;
  const Value count =
      sum(cast(not_equal(targets, ignore_index), shards ? DType::i64 : loss.dtype()));
  return shards ? shard_mean(sum(loss), count) : sum(loss) / count;
}

// Cross entropy for targets that are probabilities.
Value soft_cross_entropy(const Value& x, const Value& targets, const CrossEntropyOptions& options,
                         SourceLocation loc) {
  constexpr const char* kName = "cross_entropy";
  if (options.ignore_index != CrossEntropyOptions().ignore_index) {
    x.graph().fail(
        ArgumentError(fmt::format(
            "ignore_index is {}, but applies to class indices only, and targets are probabilities, "
            "{}; multiply the losses of Reduction::none by a mask instead",
            options.ignore_index, targets.type().str())),
        kName, {x, targets}, loc);
  }
  const std::int64_t axis = resolve_axis(options.class_axis, x, kName, loc);
  const Value loss = x.graph()
                         .apply("soft_cross_entropy", {x, targets},
                                {{"axis", axis}, {"label_smoothing", options.label_smoothing}}, loc)
                         .output(0);
  const Graph::Frame frame(x.graph(), kName, loc);
  return reduced(loss, options.reduction, kName, loc);
}

// Returns -t ln(sigmoid(x)) - (1 - t) ln(1 - sigmoid(x)). The equivalent softplus(x) - t x would
// suffer from cancellation: it computes the small loss of a confident correct prediction as the
// difference of two large numbers.
Value binary_cross_entropy(const Value& x, const Value& target) {
  return target * softplus(-x) + (1 - target) * softplus(x);
}

// Returns missed^gamma * loss, where `missed` is the probability of all other classes. It is kept
// above 0, because the derivative of the power is not finite at 0 if gamma < 1.
Value modulated(const Value& loss, const Value& missed, double gamma) {
  if (gamma == 0) return loss;
  const double least = loss.dtype() == DType::f32 ? std::numeric_limits<float>::min()
                                                  : std::numeric_limits<double>::min();
  return pow(maximum(missed, least), gamma) * loss;
}

}  // namespace

Value cross_entropy(Arg logits, Arg targets, const CrossEntropyOptions& options) {
  const Value x = logits.value("cross_entropy"), t = targets.value("cross_entropy");
  if (is_floating(t.dtype())) return soft_cross_entropy(x, t, options, logits.location());
  const Value loss = class_loss(x, t, options, "cross_entropy", logits.location());
  const Graph::Frame frame(x.graph(), "cross_entropy", logits.location());
  return reduced_classes(loss, t, options.ignore_index, options.reduction, "cross_entropy",
                         logits.location());
}

Value focal_loss(Arg logits, Arg targets, const FocalLossOptions& options) {
  const Value x = logits.value("focal_loss"), t = targets.value("focal_loss");
  const SourceLocation loc = logits.location();
  require_option("focal_loss", "gamma", options.gamma, Allowed::not_negative, loc);
  const Value nll =
      class_loss(x, t, {.class_axis = options.class_axis, .ignore_index = options.ignore_index},
                 "focal_loss", loc);
  const Graph::Frame frame(x.graph(), "focal_loss", loc);
  return reduced_classes(modulated(nll, -expm1(-nll), options.gamma), t, options.ignore_index,
                         options.reduction, "focal_loss", loc);
}

Value mse(Arg x, Arg target, Reduction reduction) {
  const ArgPair p = loss_pair(x, target, "mse");
  const Graph::Frame frame(p.a.graph(), "mse", p.loc);
  return reduced(square(p.a - p.b), reduction, "mse", p.loc);
}

Value l1(Arg x, Arg target, Reduction reduction) {
  const ArgPair p = loss_pair(x, target, "l1");
  const Graph::Frame frame(p.a.graph(), "l1", p.loc);
  return reduced(abs(p.a - p.b), reduction, "l1", p.loc);
}

Value bce_with_logits(Arg x, Arg target, Reduction reduction) {
  const ArgPair p = loss_pair(x, target, "bce_with_logits");
  const Graph::Frame frame(p.a.graph(), "bce_with_logits", p.loc);
  return reduced(binary_cross_entropy(p.a, p.b), reduction, "bce_with_logits", p.loc);
}

Value sigmoid_focal_loss(Arg x, Arg target, const SigmoidFocalLossOptions& options) {
  constexpr const char* kName = "sigmoid_focal_loss";
  const ArgPair p = loss_pair(x, target, kName);
  require_option(kName, "gamma", options.gamma, Allowed::not_negative, p.loc);
  if (options.alpha) require_option(kName, "alpha", *options.alpha, Allowed::fraction, p.loc);
  const Graph::Frame frame(p.a.graph(), kName, p.loc);
  const Value missed = p.b * sigmoid(-p.a) + (1 - p.b) * sigmoid(p.a);  // 1 - p_t
  Value loss = modulated(binary_cross_entropy(p.a, p.b), missed, options.gamma);
  if (options.alpha) loss *= *options.alpha * p.b + (1 - *options.alpha) * (1 - p.b);
  return reduced(loss, options.reduction, kName, p.loc);
}

Value kl_div(Arg x, Arg target, Reduction reduction) {
  const ArgPair p = loss_pair(x, target, "kl_div");
  const Graph::Frame frame(p.a.graph(), "kl_div", p.loc);
  const Value positive = p.b > 0;
  const Value log_target = log(where(positive, p.b, 1));
  return reduced(where(positive, p.b * (log_target - p.a), 0), reduction, "kl_div", p.loc);
}

}  // namespace weft
