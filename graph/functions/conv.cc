#include "weft/graph/functions/conv.h"

#include <fmt/format.h>

#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

using Ints = std::vector<std::int64_t>;

Ints ints(const Size2d& pair) { return {pair[0], pair[1]}; }

Value apply_conv(Value x, Value weight, const Conv2dOptions& o, SourceLocation loc) {
  return x.graph()
      .apply("conv2d", {x, weight},
             {{"stride", ints(o.stride)},
              {"padding", ints(o.padding)},
              {"dilation", ints(o.dilation)},
              {"groups", o.groups}},
             loc)
      .output(0);
}

Value add_bias(Value out, const OptionalArg& bias, std::string_view function, SourceLocation loc) {
  if (!bias.present()) return out;
  const Value b = bias.value();
  if (b.rank() != 1) {
    out.graph().fail(
        ShapeError(fmt::format("bias must have 1 axis, [O], but is {}", b.type().str())), function,
        {out, b}, loc);
  }
  Shape shape{Dim(1), b.shape()[0]};
  while (shape.rank() < out.rank()) shape.push_back(Dim(1));
  return add(out, reshape(b, shape));
}

void require_rank3(Value v, std::string_view what, std::string_view function, SourceLocation loc) {
  if (v.rank() == 3) return;
  v.graph().fail(ShapeError(fmt::format("{} must have 3 axes, but is {} with {}", what,
                                        v.type().str(), v.rank())),
                 function, {v}, loc);
}

// A sequence as an image of height 1.
Value as_image(Value v) { return unsqueeze(v, 2); }
Value as_sequence(Value v) { return reshape(v, Shape{v.shape()[0], v.shape()[1], v.shape()[3]}); }

Value apply_pool(std::string_view op, Value x, const Pool2dOptions& o, SourceLocation loc) {
  return x.graph()
      .apply(op, {x},
             {{"kernel", ints(o.kernel)},
              {"stride", ints(o.stride.value_or(o.kernel))},
              {"padding", ints(o.padding)}},
             loc)
      .output(0);
}

Value pool1d(std::string_view function, std::string_view op, const Arg& x, const Pool1dOptions& o) {
  const Value v = x.value(function);
  require_rank3(v, "x [N, C, L]", function, x.location());
  const Graph::Frame frame(v.graph(), function, x.location());
  const Pool2dOptions options{.kernel = {1, o.kernel},
                              .stride = Size2d{1, o.stride.value_or(o.kernel)},
                              .padding = {0, o.padding}};
  return as_sequence(apply_pool(op, as_image(v), options, x.location()));
}

}  // namespace

Value conv1d(Arg x, Arg weight, OptionalArg bias, const Conv1dOptions& o) {
  const Value v = x.value("conv1d"), w = weight.value("conv1d");
  require_rank3(v, "x [N, C, L]", "conv1d", x.location());
  require_rank3(w, "weight [O, C / groups, k]", "conv1d", x.location());
  const Graph::Frame frame(v.graph(), "conv1d", x.location());
  const Conv2dOptions options{.stride = {1, o.stride},
                              .padding = {0, o.padding},
                              .dilation = {1, o.dilation},
                              .groups = o.groups};
  const Value out = apply_conv(as_image(v), as_image(w), options, x.location());
  return add_bias(as_sequence(out), bias, "conv1d", x.location());
}

Value conv2d(Arg x, Arg weight, OptionalArg bias, const Conv2dOptions& options) {
  const Value v = x.value("conv2d"), w = weight.value("conv2d");
  if (!bias.present()) return apply_conv(v, w, options, x.location());
  const Graph::Frame frame(v.graph(), "conv2d", x.location());
  return add_bias(apply_conv(v, w, options, x.location()), bias, "conv2d", x.location());
}

Value max_pool1d(Arg x, const Pool1dOptions& options) {
  return pool1d("max_pool1d", "max_pool2d", x, options);
}
Value max_pool2d(Arg x, const Pool2dOptions& options) {
  return apply_pool("max_pool2d", x.value("max_pool2d"), options, x.location());
}
Value avg_pool1d(Arg x, const Pool1dOptions& options) {
  return pool1d("avg_pool1d", "avg_pool2d", x, options);
}
Value avg_pool2d(Arg x, const Pool2dOptions& options) {
  return apply_pool("avg_pool2d", x.value("avg_pool2d"), options, x.location());
}

}  // namespace weft
