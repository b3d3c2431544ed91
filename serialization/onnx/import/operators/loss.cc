// Loss functions of classes.
#include "weft/graph/functions/loss.h"

#include <limits>

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/index.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/norm.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/dims.h"
#include "weft/serialization/onnx/import/operators/numeric.h"

namespace weft::onnx {
namespace {

Reduction loss_reduction(NodeImport& n) {
  const std::string name = n.text("reduction", "mean");
  if (name == "mean") return Reduction::mean;
  if (name == "sum") return Reduction::sum;
  if (name == "none") return Reduction::none;
  n.unsupported("reduction = '" + name + "'");
}

// No class has this number, so that it ignores nothing.
constexpr std::int64_t kNothingIgnored = std::numeric_limits<std::int64_t>::min();

// Returns the class numbers of the positions of scores [batch, classes, ...] as i64, which
// represents kNothingIgnored.
Value class_numbers(NodeImport& n, Value scores, Value targets) {
  for (int axis = 0; axis < targets.rank(); ++axis) {
    require_equal(n, targets.size(axis), scores.size(axis == 0 ? 0 : axis + 1));
  }
  return cast(targets, DType::i64);
}

// Returns -weights[target] * log_probabilities[target] of each position; 0 if the target is
// ignored. The mean is weighted.
Value negative_log_likelihood(NodeImport& n, Value log_probabilities, Value targets,
                              Value weights) {
  const Value x = widened(log_probabilities);
  const std::int64_t ignored = n.integer("ignore_index", kNothingIgnored);
  const Reduction reduction = loss_reduction(n);
  const Value counts = not_equal(targets, ignored);
  const Value classes = where(counts, targets, 0);
  const Value chosen = squeeze(take_along_axis(x, unsqueeze(classes, 1), 1), 1);
  Value weight = cast(counts, x.dtype());
  if (weights.defined()) weight = weight * take(cast(weights, x.dtype()), classes);
  const Value losses = where(counts, -chosen * weight, 0);
  if (reduction == Reduction::none) return losses;
  return reduction == Reduction::sum ? sum(losses) : sum(losses) / sum(weight);
}

std::vector<ImportedValue> negative_log_likelihood_loss(NodeImport& n) {
  const Value x = n.input(0);
  return {cast(negative_log_likelihood(n, x, class_numbers(n, x, n.input(1)), n.optional(2)),
               x.dtype())};
}

std::vector<ImportedValue> softmax_cross_entropy_loss(NodeImport& n) {
  const Value scores = widened(n.input(0)), weights = n.optional(2);
  const Value targets = class_numbers(n, scores, n.input(1));
  const DType dtype = n.input(0).dtype();
  const Value logarithms = log_softmax(scores, 1);
  const Value loss =
      weights.defined() ? negative_log_likelihood(n, logarithms, targets, weights)
                        : cross_entropy(scores, targets,
                                        {.class_axis = 1,
                                         .ignore_index = n.integer("ignore_index", kNothingIgnored),
                                         .reduction = loss_reduction(n)});
  return {cast(loss, dtype), cast(logarithms, dtype)};
}

constexpr Operator kLosses[] = {
    {"NegativeLogLikelihoodLoss", 12, negative_log_likelihood_loss},
    {"SoftmaxCrossEntropyLoss", 12, softmax_cross_entropy_loss},
};

}  // namespace

std::span<const Operator> loss_operators() { return kLosses; }

}  // namespace weft::onnx
