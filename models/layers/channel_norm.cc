#include "weft/models/layers/channel_norm.h"

#include "weft/graph/functions/norm.h"
#include "weft/graph/functions/state.h"
#include "weft/models/layers/features.h"

namespace weft {
namespace {

struct ScaleAndShift {
  OptionalArg gain, bias;
};

ScaleAndShift declare_affine(const Scope& scope, DType dtype, std::int64_t channels, bool affine,
                             SourceLocation loc) {
  if (!affine) return {};
  const ValueType type{dtype, {channels}};
  return {scope.variable("weight", type, {.initializer = Initializer::ones()}, loc),
          scope.variable("bias", type, {.initializer = Initializer::zeros()}, loc)};
}

}  // namespace

Value batch_norm(const Scope& scope, Value x, const BatchNormLayerOptions& options,
                 SourceLocation loc) {
  const Graph::Frame frame(scope.graph(), "batch_norm", loc, scope.path());
  const std::int64_t channels = channel_count(scope, x, -1, "batch_norm", loc);
  const bool training = scope.is_training("batch_norm", loc);
  const ScaleAndShift affine = declare_affine(scope, x.dtype(), channels, options.affine, loc);
  const ValueType type{x.dtype(), {channels}};
  const Variable mean = scope.variable(
      "running_mean", type,
      {.kind = VariableKind::buffer, .trainable = false, .initializer = Initializer::zeros()}, loc);
  const Variable variance = scope.variable(
      "running_var", type,
      {.kind = VariableKind::buffer, .trainable = false, .initializer = Initializer::ones()}, loc);
  const BatchNorm norm =
      batch_norm(Arg(x, loc), mean, variance, affine.gain, affine.bias,
                 {.training = training, .momentum = options.momentum, .eps = options.eps});
  if (!training) return norm.out;
  return with_update(with_update(norm.out, mean, norm.running_mean), variance,
                     norm.running_variance);
}

Value group_norm(const Scope& scope, Value x, int groups, const ChannelNormOptions& options,
                 SourceLocation loc) {
  const Graph::Frame frame(scope.graph(), "group_norm", loc, scope.path());
  const std::int64_t channels = channel_count(scope, x, -1, "group_norm", loc);
  const ScaleAndShift affine = declare_affine(scope, x.dtype(), channels, options.affine, loc);
  return group_norm(Arg(x, loc), groups, affine.gain, affine.bias, options.eps);
}

Value instance_norm(const Scope& scope, Value x, const ChannelNormOptions& options,
                    SourceLocation loc) {
  const Graph::Frame frame(scope.graph(), "instance_norm", loc, scope.path());
  const std::int64_t channels = channel_count(scope, x, -1, "instance_norm", loc);
  const ScaleAndShift affine = declare_affine(scope, x.dtype(), channels, options.affine, loc);
  return instance_norm(Arg(x, loc), affine.gain, affine.bias, options.eps);
}

}  // namespace weft
