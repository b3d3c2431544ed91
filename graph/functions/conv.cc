#include "weft/graph/functions/conv.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/shape.h"
#include "weft/graph/functions/windows.h"

namespace weft {
namespace {

Attributes window_attributes(const Size2d& stride, const Size2d& padding, const Size2d& dilation,
                             std::int64_t groups) {
  return {{"stride", windows::integers(stride)},
          {"padding", windows::integers(padding)},
          {"dilation", windows::integers(dilation)},
          {"groups", groups}};
}

// Exclusive upper bound of kernel sizes, strides, dilations and paddings: the product of two
// smaller numbers does not overflow (ops/convolution/window.h).
constexpr std::int64_t kEnd = std::int64_t{1} << 31;

// Returns the number of elements from the first tap of the kernel to the last, or 0 if the op will
// reject the kernel.
Size2d spans(Value weight, const Size2d& dilation) {
  Size2d result{0, 0};
  for (std::size_t i = 0; weight.rank() == 4 && i < 2; ++i) {
    const Dim& kernel = weight.shape()[static_cast<int>(i) + 2];
    const bool legal = kernel.is_constant() && kernel.constant() > 0 && kernel.constant() < kEnd;
    if (legal && dilation[i] > 0 && dilation[i] < kEnd)
      result[i] = dilation[i] * (kernel.constant() - 1) + 1;
  }
  return result;
}

Value apply_conv(Value x, Value weight, const Conv2dOptions& o, SourceLocation loc) {
  const windows::Padded padded =
      windows::pad_windows(x, o.padding, spans(weight, o.dilation), o.stride, 0, loc);
  return x.graph()
      .apply("conv2d", {padded.x, weight},
             window_attributes(o.stride, padded.both_sides, o.dilation, o.groups), loc)
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

// Checks the options here because errors from conv2d_input_grad would name the wrong op.
void check_transpose(std::string_view function, Value x, Value weight,
                     const ConvTranspose2dOptions& o, SourceLocation loc) {
  const auto fail = [&](const Error& error) { x.graph().fail(error, function, {x, weight}, loc); };
  for (std::size_t i = 0; i < 2; ++i) {
    const std::int64_t more = o.output_padding[i];
    if (o.stride[i] < 1 || o.dilation[i] < 1) {
      fail(ArgumentError(fmt::format("stride and dilation must be at least 1, but are {} and {}",
                                     o.stride[i], o.dilation[i])));
    }
    for (const std::int64_t size : {o.stride[i], o.dilation[i], o.padding.both_sides()[i]}) {
      if (size >= 0 && size < kEnd) continue;
      fail(ArgumentError(fmt::format(
          "stride, dilation and padding must be non-negative and less than 2^31, but one is {}",
          size)));
    }
    if (o.padding.same() ? more != 0 : more < 0 || more >= o.stride[i]) {
      fail(ArgumentError(
          o.padding.same()
              ? fmt::format("same_padding determines the output size: output_padding must be 0, "
                            "not {}",
                            more)
              : fmt::format("output_padding must be at least 0 and less than the stride, {}, but "
                            "is {}",
                            o.stride[i], more)));
    }
    const Dim &kernel = weight.shape()[static_cast<int>(i) + 2],
              &size = x.shape()[static_cast<int>(i) + 2];
    if (!kernel.is_constant() || kernel.constant() < 1 || kernel.constant() >= kEnd ||
        size == Dim(0)) {
      fail(
          ShapeError(fmt::format("kernel sizes must be constant and at least 1, and x must not be "
                                 "empty, but the kernel is {} x {} and x is {} x {}",
                                 weight.shape()[2].str(), weight.shape()[3].str(),
                                 x.shape()[2].str(), x.shape()[3].str())));
    }
  }
  if (!x.graph().facts().equal(x.shape()[1], weight.shape()[0])) {
    fail(ShapeError(fmt::format("channels of x (axis 1) and of weight (axis 0) differ: {} and {}",
                                x.shape()[1].str(), weight.shape()[0].str())));
  }
  if (o.groups < 1)
    fail(ArgumentError(fmt::format("groups must be at least 1, but is {}", o.groups)));
  if (!Dim::try_exact_div(weight.shape()[0], Dim(o.groups))) {
    fail(ShapeError(fmt::format("the channels of x, {}, must be a multiple of groups, {}",
                                weight.shape()[0].str(), o.groups)));
  }
}

Value apply_transpose(std::string_view function, Value x, Value weight,
                      const ConvTranspose2dOptions& o, SourceLocation loc) {
  check_transpose(function, x, weight, o, loc);
  const Size2d span = spans(weight, o.dilation);
  Size2d cut = o.padding.both_sides(), more = o.output_padding;
  std::vector<Slice> kept(4);
  std::array<Dim, 2> sizes;
  bool cuts_more = false;
  for (std::size_t i = 0; i < 2; ++i) {
    const Dim& size = x.shape()[static_cast<int>(i) + 2];
    const std::int64_t surplus = span[i] - o.stride[i];  // full output size minus size * stride
    if (o.padding.same()) {
      cut[i] = std::max<std::int64_t>(surplus, 0) / 2;
      more[i] = std::max<std::int64_t>(-surplus, 0);
      // If the surplus is odd, one more element is removed at the end.
      if (surplus > 2 * cut[i]) {
        kept[i + 2] = {Dim(0), size * Dim(o.stride[i])};
        cuts_more = true;
      }
    }
    sizes[i] = (size - Dim(1)) * Dim(o.stride[i]) + Dim(span[i] + more[i] - 2 * cut[i]);
    if (sizes[i].is_constant() && sizes[i].constant() < 1) {
      x.graph().fail(ShapeError(fmt::format("{}: a padding of {} removes all {} elements",
                                            i == 0 ? "height" : "width", cut[i],
                                            (sizes[i] + Dim(2 * cut[i])).str())),
                     function, {x, weight}, loc);
    }
  }
  Attributes attributes = window_attributes(o.stride, cut, o.dilation, o.groups);
  attributes.set("height", sizes[0]);
  attributes.set("width", sizes[1]);
  const Value out =
      x.graph().apply("conv2d_input_grad", {x, weight}, std::move(attributes), loc).output(0);
  return cuts_more ? slice(out, kept) : out;
}

}  // namespace

Value conv1d(Arg x, Arg weight, OptionalArg bias, const Conv1dOptions& o) {
  const Value v = x.value("conv1d"), w = weight.value("conv1d");
  windows::require_rank(v, 3, "x [N, C, L]", "conv1d", x.location());
  windows::require_rank(w, 3, "weight [O, C / groups, k]", "conv1d", x.location());
  const Graph::Frame frame(v.graph(), "conv1d", x.location());
  const Conv2dOptions options{.stride = {1, o.stride},
                              .padding = windows::as_image(o.padding),
                              .dilation = {1, o.dilation},
                              .groups = o.groups};
  const Value out = apply_conv(windows::as_image(v), windows::as_image(w), options, x.location());
  return add_bias(windows::as_sequence(out), bias, "conv1d", x.location());
}

Value conv2d(Arg x, Arg weight, OptionalArg bias, const Conv2dOptions& options) {
  const Value v = x.value("conv2d"), w = weight.value("conv2d");
  if (!bias.present() && !options.padding.same()) return apply_conv(v, w, options, x.location());
  const Graph::Frame frame(v.graph(), "conv2d", x.location());
  return add_bias(apply_conv(v, w, options, x.location()), bias, "conv2d", x.location());
}

Value conv_transpose1d(Arg x, Arg weight, OptionalArg bias, const ConvTranspose1dOptions& o) {
  constexpr std::string_view kName = "conv_transpose1d";
  const Value v = x.value(kName), w = weight.value(kName);
  windows::require_rank(v, 3, "x [N, C, L]", kName, x.location());
  windows::require_rank(w, 3, "weight [C, O / groups, k]", kName, x.location());
  const Graph::Frame frame(v.graph(), kName, x.location());
  const ConvTranspose2dOptions options{.stride = {1, o.stride},
                                       .padding = windows::as_image(o.padding),
                                       .output_padding = {0, o.output_padding},
                                       .dilation = {1, o.dilation},
                                       .groups = o.groups};
  const Value out =
      apply_transpose(kName, windows::as_image(v), windows::as_image(w), options, x.location());
  return add_bias(windows::as_sequence(out), bias, kName, x.location());
}

Value conv_transpose2d(Arg x, Arg weight, OptionalArg bias, const ConvTranspose2dOptions& options) {
  constexpr std::string_view kName = "conv_transpose2d";
  const Value v = x.value(kName), w = weight.value(kName);
  windows::require_rank(v, 4, "x [N, C, H, W]", kName, x.location());
  windows::require_rank(w, 4, "weight [C, O / groups, kh, kw]", kName, x.location());
  const Graph::Frame frame(v.graph(), kName, x.location());
  return add_bias(apply_transpose(kName, v, w, options, x.location()), bias, kName, x.location());
}

}  // namespace weft
