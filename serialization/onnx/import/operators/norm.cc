// Normalisation.
#include "weft/graph/functions/norm.h"

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/conv.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/dims.h"
#include "weft/serialization/onnx/import/operators/numeric.h"

namespace weft::onnx {
namespace {

// Returns the dtype in which an operator computes, from its attribute stash_type: at least f32.
DType stash_dtype(NodeImport& n) { return dtype_attribute(n, "stash_type", DType::f32); }

// Returns true if the sizes of v are those of the axes of x from `axis` on.
bool has_trailing_sizes(Value v, Value x, int axis) {
  bool equal = v.rank() == x.rank() - axis;
  for (int i = 0; equal && i < v.rank(); ++i) {
    equal = x.graph().facts().equal(v.shape()[i], x.shape()[axis + i]);
  }
  return equal;
}

std::vector<ImportedValue> layer_normalization(NodeImport& n) {
  const Value x = widened(n.input(0));
  const DType dtype = n.input(0).dtype(), stash = stash_dtype(n);
  const int axis = n.axis("axis", -1, x.rank());
  const double eps = n.real("epsilon", 1e-5F);
  const LayerNormOptions options{.axes = x.rank() - axis, .eps = eps};
  const Value gain = cast(n.input(1), x.dtype());
  const Value bias = n.has(2) ? cast(n.input(2), x.dtype()) : Value();
  require_broadcast(
      n, bias.defined() ? std::vector<Value>{x, gain, bias} : std::vector<Value>{x, gain});
  const auto fits = [&](Value v) { return !v.defined() || has_trailing_sizes(v, x, axis); };
  Value y;
  if (fits(gain) && fits(bias)) {
    y = layer_norm(x, gain, bias, options);
  } else {  // operands that broadcast
    y = layer_norm(x, {}, {}, options) * gain;
    if (bias.defined()) y = y + bias;
  }
  if (!n.wants(1) && !n.wants(2)) return {cast(y, dtype)};
  const std::vector<int> axes = axes_between(axis, x.rank());
  const Value average = mean(x, axes, true);
  const Value deviation = rsqrt(mean(square(x - average), axes, true) + eps);
  return {cast(y, dtype), cast(average, stash), cast(deviation, stash)};
}

// The result has the dtype of the factors.
std::vector<ImportedValue> rms_normalization(NodeImport& n) {
  const Value x = widened(n.input(0));
  stash_dtype(n);
  const int axis = n.axis("axis", -1, x.rank());
  const double eps = n.real("epsilon", 1e-5F);
  const Value gain = cast(n.input(1), x.dtype());
  require_broadcast(n, {x, gain});
  // rms_norm normalises one axis.
  const Dim width = size_product(x.shape(), axis, x.rank());
  Shape merged(std::vector<Dim>(x.shape().begin(), x.shape().begin() + axis));
  merged.push_back(width);
  const Value rows = reshape(x, merged);
  const Value y = has_trailing_sizes(gain, x, axis)
                      ? reshape(rms_norm(rows, reshape(gain, Shape{width}), eps), x.shape())
                      : reshape(rms_norm(rows, {}, eps), x.shape()) * gain;
  return {cast(y, n.input(1).dtype())};
}

// The training mode of BatchNormalization of opset 14. New statistics are mixed from the old ones
// and the biased variance of the batch.
std::vector<ImportedValue> batch_normalization_training(NodeImport& n, Value x, Value gain,
                                                        Value bias, double eps, double momentum) {
  const Value old_mean = n.buffer(3), old_variance = n.buffer(4);
  const BatchNorm batch =
      batch_norm(x, cast(old_mean, x.dtype()), cast(old_variance, x.dtype()), gain, bias,
                 {.training = true, .momentum = 1 - momentum, .eps = eps});
  std::vector<ImportedValue> outputs = {cast(batch.out, n.input(0).dtype())};
  if (!n.wants(1) && !n.wants(2)) return outputs;
  std::vector<int> axes = axes_between(1, x.rank());
  axes[0] = 0;
  const Value average = mean(x, axes, true);
  const Value variance = mean(square(x - average), axes, true);
  const auto mixed = [&](Value old, Value now) {
    const Value wide = cast(old, x.dtype());
    return cast(wide * momentum + stop_gradient(reshape(now, old.shape())) * (1 - momentum),
                old.dtype());
  };
  outputs.push_back(mixed(old_mean, average));
  outputs.push_back(mixed(old_variance, variance));
  return outputs;
}

std::vector<ImportedValue> batch_normalization(NodeImport& n) {
  const Value x = widened(n.input(0));
  const double eps = n.real("epsilon", 1e-5F), momentum = n.real("momentum", 0.9F);
  const Value gain = cast(n.input(1), x.dtype()), bias = cast(n.input(2), x.dtype());
  require_equal(n, x.size(1), gain.size(0));
  if (n.opset() >= 14 && n.flag("training_mode")) {
    return batch_normalization_training(n, x, gain, bias, eps, momentum);
  }
  if (n.opset() < 7) n.skip_attribute("is_test");  // the meaning is that of inference
  if (n.opset() < 9 && !n.flag("spatial", true)) n.unsupported("spatial = 0");
  for (std::size_t i = 1; i < n.output_count(); ++i) {
    if (n.wants(i)) n.unsupported("statistics of the batch as outputs (training)");
  }
  const BatchNorm result = batch_norm(x, cast(n.buffer(3), x.dtype()), cast(n.buffer(4), x.dtype()),
                                      gain, bias, {.training = false, .eps = eps});
  return {cast(result.out, n.input(0).dtype())};
}

std::vector<ImportedValue> instance_normalization(NodeImport& n) {
  const Value x = widened(n.input(0)), gain = widened(n.input(1)), bias = widened(n.input(2));
  require_equal(n, x.size(1), gain.size(0));
  const Value y = instance_norm(x, gain, bias, n.real("epsilon", 1e-5F));
  return {cast(y, n.input(0).dtype())};
}

std::vector<ImportedValue> group_normalization(NodeImport& n) {
  const Value x = widened(n.input(0));
  const std::int64_t groups = n.integer("num_groups");
  if (groups < 1) n.unsupported("num_groups = " + std::to_string(groups));
  if (n.opset() >= 21) stash_dtype(n);
  const double eps = n.real("epsilon", 1e-5F);
  Value gain = cast(n.input(1), x.dtype()), bias = cast(n.input(2), x.dtype());
  if (n.opset() < 21) {  // one number per group
    const std::int64_t channels = x.size(1).constant() / groups;
    gain = repeat_interleave(gain, channels, 0);
    bias = repeat_interleave(bias, channels, 0);
  }
  return {cast(group_norm(x, static_cast<int>(groups), gain, bias, eps), n.input(0).dtype())};
}

// Local response normalisation: divides by a power of the sum of squares over neighbouring
// channels.
std::vector<ImportedValue> local_response_normalization(NodeImport& n) {
  const Value x = widened(n.input(0));
  const std::int64_t size = n.integer("size");
  if (size < 1) n.unsupported("size = " + std::to_string(size));
  const double alpha = n.real("alpha", 1e-4F), beta = n.real("beta", 0.75),
               bias = n.real("bias", 1);
  const Dim inner = size_product(x.shape(), 2, x.rank());
  const Dim batch = x.size(0), channels = x.size(1);
  const Value squares = reshape(square(x), Shape{batch, 1, channels, inner});
  const Value padded = pad(squares, {{0, 0}, {0, 0}, {(size - 1) / 2, size / 2}, {0, 0}});
  const Value means = avg_pool2d(padded, {.kernel = {size, 1}, .stride = Size2d{1, 1}});
  const Value y = x / pow(bias + alpha * reshape(means, x.shape()), beta);
  return {cast(y, n.input(0).dtype())};
}

std::vector<ImportedValue> mean_variance_normalization(NodeImport& n) {
  const Value x = widened(n.input(0));
  const auto axes =
      normalised_axes(n, n.integers("axes").value_or(std::vector<std::int64_t>{0, 2, 3}), x.rank());
  const Value centred = x - mean(x, axes, true);
  const Value count = dim_value(n.graph(), number_of_elements(x.shape(), axes), x.dtype());
  // norm() has gradient 0 at 0; the gradient of sqrt(variance) is infinite.
  const Value deviation = norm(centred, axes, true) * rsqrt(count);
  return {cast(centred / (deviation + 1e-9), n.input(0).dtype())};
}

std::vector<ImportedValue> lp_normalization(NodeImport& n) {
  const Value x = widened(n.input(0));
  const int axis = n.axis("axis", -1, x.rank());
  const std::int64_t p = n.integer("p", 2);
  if (p != 1 && p != 2) n.unsupported("p = " + std::to_string(p));
  const Value length = p == 1 ? sum(abs(x), axis, true) : norm(x, axis, true);
  return {cast(x / where(length > 0, length, 1), n.input(0).dtype())};
}

constexpr Operator kNorms[] = {
    {"LayerNormalization", 1, layer_normalization},  // before 17, of ONNX Runtime
    {"RMSNormalization", 23, rms_normalization},
    {"BatchNormalization", 6, batch_normalization},
    {"InstanceNormalization", 6, instance_normalization},
    {"GroupNormalization", 18, group_normalization},
    {"LRN", 1, local_response_normalization},
    {"MeanVarianceNormalization", 9, mean_variance_normalization},
    {"LpNormalization", 1, lp_normalization},
};

}  // namespace

std::span<const Operator> norm_operators() { return kNorms; }

}  // namespace weft::onnx
