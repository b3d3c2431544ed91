#include "weft/models/layers/conv.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/layers/features.h"

namespace weft {
namespace {

struct ConvVariables {
  Variable weight;
  OptionalArg bias;
};

// Declares the parameters of a convolution. `kernel` has one size per spatial axis. The weight of a
// transposed convolution has the channels of x on its first axis.
template <class Options>
ConvVariables declare_conv(const Scope& scope, std::string_view layer, Value x,
                           std::int64_t channels, const std::vector<std::int64_t>& kernel,
                           bool transposed, const Options& o, SourceLocation loc) {
  const std::int64_t in = channel_count(scope, x, static_cast<int>(kernel.size()), layer, loc);
  const std::int64_t groups = o.groups;
  if (channels < 1 || in < 1 || groups < 1 || channels % groups != 0 || in % groups != 0) {
    scope.graph().fail(
        ArgumentError(fmt::format("channels must be at least 1 and multiples of groups, but are "
                                  "{} -> {} in {} groups",
                                  in, channels, groups)),
        layer, {x}, loc);
  }
  Shape shape{Dim(transposed ? in : channels), Dim((transposed ? channels : in) / groups)};
  std::int64_t taps = 1;
  for (const std::int64_t size : kernel) {
    if (size < 1) {
      scope.graph().fail(
          ArgumentError(fmt::format("kernel sizes must be at least 1, but one is {}", size)), layer,
          {x}, loc);
    }
    shape.push_back(Dim(size));
    taps *= size;
  }
  const std::int64_t fan_in = in / groups * taps;
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  ConvVariables result;
  result.weight = scope.variable(
      "weight", {x.dtype(), shape},
      {.initializer = o.initializer.value_or(Initializer::uniform(-bound, bound))}, loc);
  if (o.bias) {
    result.bias =
        scope.variable("bias", {x.dtype(), {channels}}, {.initializer = Initializer::zeros()}, loc);
  }
  return result;
}

}  // namespace

Value conv1d(const Scope& scope, Value x, std::int64_t channels, const Conv1dLayerOptions& o,
             SourceLocation loc) {
  const Graph::Frame frame(scope.graph(), "conv1d", loc, scope.path());
  const ConvVariables v = declare_conv(scope, "conv1d", x, channels, {o.kernel}, false, o, loc);
  return conv1d(
      Arg(x, loc), v.weight, v.bias,
      {.stride = o.stride, .padding = o.padding, .dilation = o.dilation, .groups = o.groups});
}

Value conv2d(const Scope& scope, Value x, std::int64_t channels, const Conv2dLayerOptions& o,
             SourceLocation loc) {
  const Graph::Frame frame(scope.graph(), "conv2d", loc, scope.path());
  const ConvVariables v =
      declare_conv(scope, "conv2d", x, channels, {o.kernel[0], o.kernel[1]}, false, o, loc);
  return conv2d(
      Arg(x, loc), v.weight, v.bias,
      {.stride = o.stride, .padding = o.padding, .dilation = o.dilation, .groups = o.groups});
}

Value conv_transpose1d(const Scope& scope, Value x, std::int64_t channels,
                       const ConvTranspose1dLayerOptions& o, SourceLocation loc) {
  const Graph::Frame frame(scope.graph(), "conv_transpose1d", loc, scope.path());
  const ConvVariables v =
      declare_conv(scope, "conv_transpose1d", x, channels, {o.kernel}, true, o, loc);
  return conv_transpose1d(Arg(x, loc), v.weight, v.bias,
                          {.stride = o.stride,
                           .padding = o.padding,
                           .output_padding = o.output_padding,
                           .dilation = o.dilation,
                           .groups = o.groups});
}

Value conv_transpose2d(const Scope& scope, Value x, std::int64_t channels,
                       const ConvTranspose2dLayerOptions& o, SourceLocation loc) {
  const Graph::Frame frame(scope.graph(), "conv_transpose2d", loc, scope.path());
  const ConvVariables v = declare_conv(scope, "conv_transpose2d", x, channels,
                                       {o.kernel[0], o.kernel[1]}, true, o, loc);
  return conv_transpose2d(Arg(x, loc), v.weight, v.bias,
                          {.stride = o.stride,
                           .padding = o.padding,
                           .output_padding = o.output_padding,
                           .dilation = o.dilation,
                           .groups = o.groups});
}

}  // namespace weft
