#include "weft/graph/functions/loss.h"

#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/axes.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/functions/shards.h"

namespace weft {
namespace {

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

}  // namespace

Value cross_entropy(Arg logits, Arg targets, const CrossEntropyOptions& options) {
  const Value x = logits.value("cross_entropy"), t = targets.value("cross_entropy");
  Graph& graph = x.graph();
  const std::int64_t axis = resolve_axis(options.class_axis, x, "cross_entropy", logits.location());
  const Value loss = graph
                         .apply("cross_entropy", {x, t},
                                {{"axis", axis},
                                 {"ignore_index", options.ignore_index},
                                 {"label_smoothing", options.label_smoothing}},
                                logits.location())
                         .output(0);
  const Graph::Frame frame(graph, "cross_entropy", logits.location());
  if (options.reduction == Reduction::shard_mean)
    return shard_mean(sum(loss), sum(cast(not_equal(t, options.ignore_index), DType::i64)));
  if (options.reduction != Reduction::mean) {
    return reduced(loss, options.reduction, "cross_entropy", logits.location());
  }
  return sum(loss) / sum(cast(not_equal(t, options.ignore_index), x.dtype()));
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
  // -t ln(sigmoid(x)) - (1 - t) ln(1 - sigmoid(x)). The equivalent softplus(x) - t x would suffer
  // from cancellation: it computes the small loss of a confident correct prediction as the
  // difference of two large numbers.
  return reduced(p.b * softplus(-p.a) + (1 - p.b) * softplus(p.a), reduction, "bce_with_logits",
                 p.loc);
}

Value kl_div(Arg x, Arg target, Reduction reduction) {
  const ArgPair p = loss_pair(x, target, "kl_div");
  const Graph::Frame frame(p.a.graph(), "kl_div", p.loc);
  const Value positive = p.b > 0;
  const Value log_target = log(where(positive, p.b, 1));
  return reduced(where(positive, p.b * (log_target - p.a), 0), reduction, "kl_div", p.loc);
}

}  // namespace weft
