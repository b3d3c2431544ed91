// Convolutions.
#include "weft/serialization/onnx/import/operators/convolution.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "weft/core/error.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/conv.h"
#include "weft/graph/functions/shape.h"
#include "weft/serialization/onnx/import/operators.h"
#include "weft/serialization/onnx/import/operators/numeric.h"

namespace weft::onnx {
namespace {

/// One spatial axis of a convolution.
struct ConvAxis {
  std::int64_t kernel = 1, stride = 1, dilation = 1;
  std::int64_t span() const { return dilation * (kernel - 1) + 1; }
};

struct ConvPlan {
  Value x, weight;  // no narrow dtypes
  std::vector<ConvAxis> axes;
  std::int64_t groups = 1;
  std::string auto_pad;
};

/// Reads everything that Conv and ConvTranspose have in common, except for the padding.
ConvPlan read_convolution(NodeImport& n, Value x, Value weight) {
  ConvPlan plan{x, weight, {}, n.integer("group", 1), n.text("auto_pad", "NOTSET")};
  const int spatial = plan.x.rank() - 2;
  if (spatial < 1 || spatial > 3) n.unsupported(fmt::format("{} spatial axes", spatial));
  if (plan.weight.rank() != plan.x.rank()) {
    throw FormatError(fmt::format("the weight must have {} axes, but is {}", plan.x.rank(),
                                  plan.weight.type().str()));
  }
  const auto count = static_cast<std::size_t>(spatial);
  const auto list = [&](std::string_view name) {
    auto values = n.integers(name).value_or(std::vector<std::int64_t>(count, 1));
    if (values.size() != count) {
      throw FormatError(
          fmt::format("{} must have {} elements, but has {}", name, count, values.size()));
    }
    for (const std::int64_t value : values) {
      if (value < 1 || value >= std::int64_t{1} << 31)
        throw FormatError(fmt::format("{} must be positive, but one element is {}", name, value));
    }
    return values;
  };
  const auto strides = list("strides"), dilations = list("dilations");
  const bool has_kernel = n.has_attribute("kernel_shape");
  const auto kernel = list("kernel_shape");
  for (std::size_t i = 0; i < count; ++i) {
    const Dim& size = plan.weight.shape()[static_cast<int>(i) + 2];
    if (!size.is_constant()) n.unsupported("a kernel of symbolic size");
    // The taps of the depth are sliced one by one.
    if (size.constant() >= (count == 3 && i == 0 ? 1024 : std::int64_t{1} << 31))
      n.unsupported(fmt::format("a kernel of size {}", size.constant()));
    if (has_kernel && kernel[i] != size.constant()) {
      throw FormatError(fmt::format("kernel_shape is {} for spatial axis {}, but the weight is {}",
                                    kernel[i], i, plan.weight.type().str()));
    }
    plan.axes.push_back({size.constant(), strides[i], dilations[i]});
  }
  return plan;
}

/// Returns `pads`, the numbers of elements at the beginnings of the axes and then at their ends;
/// 0 by default. An auto_pad other than NOTSET takes precedence, as in ONNX Runtime.
std::vector<std::int64_t> convolution_pads(NodeImport& n, std::size_t axes) {
  auto pads = n.integers("pads").value_or(std::vector<std::int64_t>(2 * axes, 0));
  if (pads.size() != 2 * axes) {
    throw FormatError(fmt::format("pads must have {} elements, but has {}", 2 * axes, pads.size()));
  }
  for (const std::int64_t pad : pads) {
    if (pad < 0 || pad >= std::int64_t{1} << 31)
      throw FormatError(fmt::format("pads must not be negative, but one element is {}", pad));
  }
  return pads;
}

/// Returns true for SAME_UPPER and SAME_LOWER.
bool convolution_is_same(NodeImport& n, const ConvPlan& plan) {
  if (plan.auto_pad == "NOTSET" || plan.auto_pad == "VALID") return false;
  if (plan.auto_pad == "SAME_UPPER" || plan.auto_pad == "SAME_LOWER") return true;
  n.unsupported(fmt::format("auto_pad '{}'", plan.auto_pad));
}

Value convolution_bias(NodeImport& n, Value out) {
  if (!n.has(2)) return out;
  const Value bias = widened(n.input(2));
  std::vector<Dim> sizes(static_cast<std::size_t>(out.rank()), Dim(1));
  sizes[1] = bias.shape().numel();
  return add(out, reshape(bias, Shape(sizes)));
}

/// Folds the windows of the first spatial axis of x [N, C, D, H, W] into the channels: [N OD, C kd,
/// H, W].
Value fold_depth(Value x, const ConvAxis& depth) {
  const Dim out = floor_div(x.size(2) - Dim(depth.span()), Dim(depth.stride)) + Dim(1);
  std::vector<Value> taps;
  for (std::int64_t k = 0; k < depth.kernel; ++k) {
    const Dim begin(k * depth.dilation);
    taps.push_back(slice(
        x, 2, Slice{begin, begin + (out - Dim(1)) * Dim(depth.stride) + Dim(1), depth.stride}));
  }
  const Value windows = permute(stack(taps, 2), {0, 3, 1, 2, 4, 5});  // [N, OD, C, kd, H, W]
  return reshape(windows,
                 Shape{x.size(0) * out, x.size(1) * Dim(depth.kernel), x.size(3), x.size(4)});
}

std::vector<ImportedValue> conv(NodeImport& n) {
  const Value out = convolved(n, widened(n.input(0)), widened(n.input(1)));
  return {cast(convolution_bias(n, out), n.input(0).dtype())};
}

/// The activation of a fused operator of com.microsoft, with its parameters in `params`.
Value convolution_activation(NodeImport& n, Value x) {
  const std::string name = n.text("activation", "");
  const auto params = n.reals("activation_params").value_or(std::vector<double>());
  const auto count = [&](std::size_t wanted) {
    if (params.size() != wanted) {
      throw FormatError(fmt::format("activation_params of {} must have {} elements, but has {}",
                                    name, wanted, params.size()));
    }
  };
  if (name == "LeakyRelu") {
    count(1);
    return leaky_relu(x, params[0]);
  }
  if (name == "Clip") {
    count(2);
    return clamp(x, params[0], params[1]);
  }
  if (name == "HardSigmoid") {
    count(2);
    return clamp(x * params[0] + params[1], 0, 1);
  }
  count(0);
  if (name.empty()) return x;
  if (name == "Relu") return relu(x);
  if (name == "Sigmoid") return sigmoid(x);
  if (name == "Tanh") return tanh(x);
  n.unsupported(fmt::format("the activation '{}'", name));
}

std::vector<ImportedValue> fused_conv(NodeImport& n) {
  Value out = convolved(n, widened(n.input(0)), widened(n.input(1)));
  out = convolution_bias(n, out);
  if (const Value added = widened(n.optional(3)); added.defined()) out = out + added;
  return {cast(convolution_activation(n, out), n.input(0).dtype())};
}

/// The part of the complete transposed convolution, of F = (size - 1) stride + span elements, that
/// is the output: the range [begin, F + more) along one axis. `more` may have any sign.
struct TransposedRange {
  std::int64_t begin = 0, more = 0;
};

std::vector<TransposedRange> transposed_ranges(NodeImport& n, const ConvPlan& plan) {
  const std::size_t count = plan.axes.size();
  const bool same = convolution_is_same(n, plan);
  const auto pads = convolution_pads(n, count);
  const auto more = n.integers("output_padding").value_or(std::vector<std::int64_t>(count, 0));
  const auto shape = n.integers("output_shape");
  if (more.size() != count)
    throw FormatError(fmt::format("output_padding must have {} elements", count));
  for (std::size_t i = 0; i < count; ++i) {
    if (more[i] < 0 || more[i] >= std::max(plan.axes[i].stride, plan.axes[i].dilation)) {
      throw FormatError(fmt::format(
          "output_padding must be less than the stride or the dilation, but one element is {}",
          more[i]));
    }
  }
  // Some exporters write the batch and the channels, too.
  if (shape && shape->size() != count && shape->size() != count + 2)
    throw FormatError(fmt::format("output_shape must have {} elements", count));
  std::vector<TransposedRange> ranges;
  for (std::size_t i = 0; i < count; ++i) {
    const ConvAxis& axis = plan.axes[i];
    if (!shape && !same) {
      const bool padded = plan.auto_pad == "NOTSET";
      ranges.push_back({padded ? pads[i] : 0, more[i] - (padded ? pads[i + count] : 0)});
      continue;
    }
    std::int64_t total = more[i] + axis.span() - axis.stride;  // for `size * stride` elements
    if (shape) {
      const Dim& size = plan.x.shape()[static_cast<int>(i) + 2];
      if (!size.is_constant()) n.unsupported("output_shape and an input of symbolic size");
      const std::int64_t wanted = (*shape)[shape->size() - count + i];
      if (wanted < 1 || wanted >= std::int64_t{1} << 40)
        throw FormatError(
            fmt::format("output_shape must be positive, but one element is {}", wanted));
      total = (Dim(total) + size * Dim(axis.stride) - Dim(wanted)).constant();
    }
    const std::int64_t cut = std::max<std::int64_t>(total, 0);
    const std::int64_t begin = plan.auto_pad == "SAME_UPPER" ? cut / 2 : cut - cut / 2;
    ranges.push_back({begin, begin + more[i] - total});
  }
  return ranges;
}

/// The settings of one axis of conv_transpose2d, and the steps after it that select the range.
struct TransposedAxis {
  std::int64_t padding = 0, output_padding = 0, add_end = 0;
  std::optional<Slice> kept;
};
TransposedAxis transposed_axis(const ConvAxis& axis, const TransposedRange& range,
                               const Dim& size) {
  TransposedAxis t;
  // The op computes [padding, F + output_padding - padding) with 0 <= output_padding < stride.
  const bool exact = range.more + range.begin >= 0 && range.more + range.begin < axis.stride;
  t.padding = exact ? range.begin : std::min(range.begin, std::max<std::int64_t>(-range.more, 0));
  const std::int64_t missing = range.more + t.padding;
  t.output_padding = std::clamp<std::int64_t>(missing, 0, axis.stride - 1);
  t.add_end = std::max<std::int64_t>(missing - t.output_padding, 0);
  const Dim full = (size - Dim(1)) * Dim(axis.stride) + Dim(axis.span());
  if (missing < 0 || t.padding < range.begin) {
    // Positions relative to the result of the op, after add_end zeros.
    t.kept = Slice{Dim(range.begin - t.padding), full + Dim(range.more - t.padding)};
  }
  return t;
}

/// Sums y [N, O, kd, D, H, W], the contributions of D elements to the kd taps of their windows, at
/// the positions of the taps, by a transposed convolution with the identity: [N, O, D', H, W].
Value unfold_depth(Value y, const ConvAxis& axis, const TransposedAxis& t) {
  const Dim rows = y.size(0) * y.size(1) * y.size(4) * y.size(5);
  const Shape shape = y.shape();
  const Shape square{Dim(axis.kernel), Dim(1), Dim(axis.kernel)};
  const Value identity =
      cast(equal(iota(y.graph(), square, 0), iota(y.graph(), square, 2)), y.dtype());
  y = reshape(permute(y, {0, 1, 4, 5, 2, 3}), Shape{rows, shape[2], shape[3]});
  y = conv_transpose1d(y, identity, {},
                       {axis.stride, t.padding, t.output_padding, axis.dilation, 1});
  y = reshape(y, Shape{shape[0], shape[1], shape[4], shape[5], y.size(2)});
  return permute(y, {0, 1, 4, 2, 3});
}

std::vector<ImportedValue> conv_transpose(NodeImport& n) {
  const ConvPlan plan = read_convolution(n, widened(n.input(0)), widened(n.input(1)));
  const auto ranges = transposed_ranges(n, plan);
  const std::size_t count = plan.axes.size();
  std::vector<TransposedAxis> axes;
  for (std::size_t i = 0; i < count; ++i) {
    axes.push_back(
        transposed_axis(plan.axes[i], ranges[i], plan.x.shape()[static_cast<int>(i) + 2]));
  }
  Value x = plan.x, weight = plan.weight, out;
  const ConvAxis& last = plan.axes.back();
  if (count == 1) {
    out = conv_transpose1d(
        x, weight, {},
        {last.stride, axes[0].padding, axes[0].output_padding, last.dilation, plan.groups});
  } else {
    const Dim batch = x.size(0), depth = x.size(2), kernel = weight.size(2);
    if (count == 3) {
      x = permute(x, {0, 2, 1, 3, 4});
      x = reshape(x, Shape{batch * depth, x.size(2), x.size(3), x.size(4)});
      weight = reshape(
          weight, Shape{weight.size(0), weight.size(1) * kernel, weight.size(3), weight.size(4)});
    }
    const ConvAxis& height = plan.axes[count - 2];
    const TransposedAxis &h = axes[count - 2], &w = axes[count - 1];
    out = conv_transpose2d(x, weight, {},
                           {.stride = {height.stride, last.stride},
                            .padding = {h.padding, w.padding},
                            .output_padding = {h.output_padding, w.output_padding},
                            .dilation = {height.dilation, last.dilation},
                            .groups = plan.groups});
    if (count == 3) {
      out = reshape(out, Shape{batch, depth, exact_div(out.size(1), kernel), kernel, out.size(2),
                               out.size(3)});
      out = unfold_depth(permute(out, {0, 2, 3, 1, 4, 5}), plan.axes[0], axes[0]);
    }
  }
  std::vector<std::pair<Dim, Dim>> added(count + 2, {Dim(0), Dim(0)});
  std::vector<Slice> kept(count + 2);
  for (std::size_t i = 0; i < count; ++i) {
    added[i + 2].second = Dim(axes[i].add_end);
    if (axes[i].kept) kept[i + 2] = *axes[i].kept;
  }
  const auto any = [&](auto&& condition) {
    return std::any_of(axes.begin(), axes.end(), condition);
  };
  if (any([](const TransposedAxis& t) { return t.add_end > 0; })) out = pad(out, added);
  if (any([](const TransposedAxis& t) { return t.kept.has_value(); })) out = slice(out, kept);
  return {cast(convolution_bias(n, out), n.input(0).dtype())};
}

constexpr Operator kConvolutions[] = {
    {"Conv", 1, conv},
    {"ConvTranspose", 1, conv_transpose},
};

constexpr Operator kMicrosoftConvolutions[] = {
    {"FusedConv", 1, fused_conv},
};

}  // namespace

Value convolved(NodeImport& n, Value x, Value weight) {
  const ConvPlan plan = read_convolution(n, x, weight);
  const bool same = convolution_is_same(n, plan);
  const std::size_t count = plan.axes.size();
  const auto pads = convolution_pads(n, count);
  // Equal padding of height and width is applied by conv2d, all other padding to x.
  std::vector<std::pair<Dim, Dim>> before(count + 2, {Dim(0), Dim(0)});
  std::vector<std::int64_t> inside(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const ConvAxis& axis = plan.axes[i];
    auto& [begin, end] = before[i + 2];
    if (same) {
      const Dim size = plan.x.shape()[static_cast<int>(i) + 2];
      const Dim windows = floor_div(size + Dim(axis.stride - 1), Dim(axis.stride));
      const Dim total =
          max((windows - Dim(1)) * Dim(axis.stride) + Dim(axis.span()) - size, Dim(0));
      const Dim half = floor_div(total, Dim(2));
      begin = plan.auto_pad == "SAME_UPPER" ? half : total - half;
      end = total - begin;
    } else if (plan.auto_pad == "NOTSET") {
      begin = Dim(pads[i]);
      end = Dim(pads[i + count]);
    }
    if (begin == end && begin.is_constant() && (count < 3 || i > 0)) {
      inside[i] = begin.constant();
      begin = end = Dim(0);
    }
  }
  if (std::any_of(before.begin(), before.end(),
                  [](const auto& side) { return side.first != Dim(0) || side.second != Dim(0); })) {
    x = pad(x, before);
  }
  const ConvAxis& last = plan.axes.back();
  Value out;
  if (count == 1) {
    out = conv1d(x, weight, {}, {last.stride, inside[0], last.dilation, plan.groups});
  } else {
    const ConvAxis& height = plan.axes[count - 2];
    const Dim batch = x.size(0);
    if (count == 3) {
      x = fold_depth(x, plan.axes[0]);
      weight = reshape(weight, Shape{weight.size(0), weight.size(1) * weight.size(2),
                                     weight.size(3), weight.size(4)});
    }
    out = conv2d(x, weight, {},
                 {.stride = {height.stride, last.stride},
                  .padding = {inside[count - 2], inside[count - 1]},
                  .dilation = {height.dilation, last.dilation},
                  .groups = plan.groups});
    if (count == 3) {
      const Dim depth = exact_div(x.size(0), batch);
      out = reshape(out, Shape{batch, depth, out.size(1), out.size(2), out.size(3)});
      out = permute(out, {0, 2, 1, 3, 4});
    }
  }
  return out;
}

std::span<const Operator> convolution_operators() { return kConvolutions; }
std::span<const Operator> microsoft_convolution_operators() { return kMicrosoftConvolutions; }

}  // namespace weft::onnx
