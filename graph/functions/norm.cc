#include "weft/graph/functions/norm.h"

#include <fmt/format.h>

#include <limits>

#include "weft/core/option.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/axes.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/recentred.h"
#include "weft/graph/functions/reduce.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

Value along_axis(std::string_view op, const Arg& x, int axis) {
  const Value v = x.value(op);
  const std::int64_t at = resolve_axis(axis, v, op, x.location());
  return v.graph().apply(op, {v}, {{"axis", at}}, x.location()).output(0);
}

// Code shared by the per-channel normalisations: x [N, C, ...] and operands [C].
class Channels {
 public:
  Channels(std::string_view function, Value x, SourceLocation loc)
      : function_(function), x_(x), loc_(loc) {}

  /// Throws ShapeError unless x has at least `min_rank` axes.
  void require_rank(int min_rank, std::string_view form) const {
    if (x_.rank() < min_rank) fail(ShapeError(fmt::format("x must be {}", form)));
  }
  /// Throws ArgumentError if a numeric option is out of range.
  void require_option(std::string_view option, double value, Allowed allowed) const {
    const std::string error = option_error(option, value, allowed);
    if (!error.empty()) fail(ArgumentError(error));
  }
  /// Reshapes an operand [C] to broadcast against x. Throws ShapeError for any other shape.
  Value per_channel(Value v, std::string_view name) const {
    Shape shape{x_.shape()[1]};
    if (v.rank() != 1 || !x_.graph().facts().equal(v.shape()[0], shape[0])) {
      fail(ShapeError(fmt::format("{} must have shape {}, one element per channel, but has {}",
                                  name, shape.str(), v.shape().str())));
    }
    while (shape.rank() < x_.rank() - 1) shape.push_back(1);
    return reshape(v, shape);
  }
  /// Returns y * gain + bias, where either operand may be absent.
  Value affine(Value y, const OptionalArg& gain, const OptionalArg& bias) const {
    if (gain.present()) y = y * per_channel(gain.value(), "gain");
    if (bias.present()) y = y + per_channel(bias.value(), "bias");
    return y;
  }
  [[noreturn]] void fail(const Error& error) const {
    x_.graph().fail(error, function_, {x_}, loc_);
  }

 private:
  std::string_view function_;
  Value x_;
  SourceLocation loc_;
};

}  // namespace

Value softmax(Arg x, int axis) { return along_axis("softmax", x, axis); }
Value log_softmax(Arg x, int axis) { return along_axis("log_softmax", x, axis); }

Value masked_softmax(Arg x, Arg mask, int axis) {
  const Value v = x.value("masked_softmax"), m = mask.value("masked_softmax");
  const Graph::Frame frame(v.graph(), "masked_softmax", x.location());
  // Uses the lowest finite number instead of -inf, so that an entirely masked slice stays finite.
  const double lowest = v.dtype() == DType::f64 ? std::numeric_limits<double>::lowest()
                                                : std::numeric_limits<float>::lowest();
  return where(m, softmax(where(m, v, lowest), axis), 0);
}

Value layer_norm(Arg x, OptionalArg gain, OptionalArg bias, const LayerNormOptions& options) {
  const Value v = x.value("layer_norm");
  return v.graph()
      .apply("layer_norm", {v, gain.value(), bias.value()},
             {{"axes", std::int64_t{options.axes}}, {"eps", options.eps}}, x.location())
      .output(0);
}

Value rms_norm(Arg x, OptionalArg gain, double eps) {
  const Value v = x.value("rms_norm");
  return v.graph().apply("rms_norm", {v, gain.value()}, {{"eps", eps}}, x.location()).output(0);
}

Value group_norm(Arg x, int groups, OptionalArg gain, OptionalArg bias, double eps) {
  const Value v = x.value("group_norm");
  const Channels channels("group_norm", v, x.location());
  channels.require_rank(2, "[N, C, ...]");
  const Dim& count = v.shape()[1];
  if (groups < 1 || !count.is_constant() || count.constant() % groups != 0) {
    channels.fail(ShapeError(
        fmt::format("the channels of x (axis 1), {}, must be a constant multiple of groups, {}",
                    count.str(), groups)));
  }
  const Graph::Frame frame(v.graph(), "group_norm", x.location());
  Dim features = count.constant() / groups;
  for (int axis = 2; axis < v.rank(); ++axis) features *= v.shape()[axis];
  const Value grouped = reshape(v, Shape{v.shape()[0], Dim(groups), features});
  return channels.affine(reshape(layer_norm(grouped, {}, {}, {.eps = eps}), v.shape()), gain, bias);
}

Value instance_norm(Arg x, OptionalArg gain, OptionalArg bias, double eps) {
  const Value v = x.value("instance_norm");
  const Channels channels("instance_norm", v, x.location());
  channels.require_rank(3, "[N, C, ...] with a spatial axis");
  const Graph::Frame frame(v.graph(), "instance_norm", x.location());
  return channels.affine(layer_norm(v, {}, {}, {.axes = v.rank() - 2, .eps = eps}), gain, bias);
}

BatchNorm batch_norm(Arg x, Arg running_mean, Arg running_variance, OptionalArg gain,
                     OptionalArg bias, const BatchNormOptions& options) {
  const Value v = x.value("batch_norm");
  const Value old_mean = running_mean.value("batch_norm");
  const Value old_variance = running_variance.value("batch_norm");
  const Channels channels("batch_norm", v, x.location());
  channels.require_rank(2, "[N, C, ...]");
  channels.require_option("momentum", options.momentum, Allowed::fraction);
  channels.require_option("eps", options.eps, Allowed::not_negative);
  const Graph::Frame frame(v.graph(), "batch_norm", x.location());
  const Value channel_mean = channels.per_channel(old_mean, "running_mean");
  const Value channel_variance = channels.per_channel(old_variance, "running_variance");
  const auto normalised = [&](Value centred, Value variance) {
    return channels.affine(centred * rsqrt(variance + options.eps), gain, bias);
  };
  if (!options.training) {
    return {normalised(v - channel_mean, channel_variance), old_mean, old_variance};
  }
  std::vector<int> others = {0};
  Dim count = v.shape()[0];
  for (int axis = 2; axis < v.rank(); ++axis) {
    others.push_back(axis);
    count *= v.shape()[axis];
  }
  const Value centre = mean(v, others, true), centred = recentred(v - centre, others);
  const Value variance = mean(square(centred), others, true);
  const Value correction = dim_value(v.graph(), count, v.dtype()) /
                           maximum(dim_value(v.graph(), count - 1, v.dtype()), 1);
  const auto mixed = [&](Value old, Value now) {
    return (1 - options.momentum) * old +
           options.momentum * reshape(stop_gradient(now), old.shape());
  };
  return {normalised(centred, variance), mixed(old_mean, centre),
          mixed(old_variance, variance * correction)};
}

}  // namespace weft
