// Convolution and pooling.
#include "weft/serialization/onnx/export/operators.h"

namespace weft::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

// Padding in ONNX: the beginnings of all axes, then the ends.
Ints pads_of(const NodeExport& e) {
  const Ints& padding = e.attributes().integers("padding");
  return {padding[0], padding[1], padding[0], padding[1]};
}

OnnxAttributes conv_attributes(const NodeExport& e) {
  const Attributes& a = e.attributes();
  return {{"strides", a.integers("stride")},
          {"pads", pads_of(e)},
          {"dilations", a.integers("dilation")},
          {"group", e.integer("groups")}};
}

Names export_conv2d(const NodeExport& e) { return {e.add("Conv", e.inputs(), conv_attributes(e))}; }

// The adjoint of a convolution. An image may have a few more rows and columns than the windows
// cover.
Names export_conv2d_input_grad(const NodeExport& e) {
  const Attributes& a = e.attributes();
  const Shape &g = e.type(0).shape, &w = e.type(1).shape;
  Ints more;
  for (int i = 0; i < 2; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Dim covered = (g[2 + i] - 1) * Dim(a.integers("stride")[at]) +
                        (w[2 + i] - 1) * Dim(a.integers("dilation")[at]) + 1 -
                        2 * a.integers("padding")[at];
    const Dim rest = a.dim(i == 0 ? "height" : "width") - covered;
    if (!rest.is_constant()) {
      e.unsupported("the size of the result, " + a.dim(i == 0 ? "height" : "width").str() +
                    ", is not a constant plus a function of the operand's size");
    }
    more.push_back(rest.constant());
  }
  OnnxAttributes attributes = conv_attributes(e);
  attributes.push_back({"output_padding", more});
  return {e.add("ConvTranspose", e.inputs(), attributes)};
}

Names export_max_pool2d(const NodeExport& e) {
  const OnnxAttributes attributes = {{"kernel_shape", e.attributes().integers("kernel")},
                                     {"strides", e.attributes().integers("stride")},
                                     {"pads", pads_of(e)}};
  if (!e.wants(1)) return {e.add("MaxPool", {e.in()}, attributes)};
  // ONNX counts positions in the whole tensor, Weft in one plane.
  Names names = e.add(2, "MaxPool", {e.in()}, attributes);
  const Shape& image = e.type().shape;
  names[1] = e.add("Mod", {names[1], e.graph().size(image[2] * image[3])});
  if (e.out_type(1).dtype != DType::i64) names[1] = e.cast(names[1], e.out_type(1).dtype);
  return names;
}

Names export_avg_pool2d(const NodeExport& e) {
  return {e.add("AveragePool", {e.in()},
                {{"kernel_shape", e.attributes().integers("kernel")},
                 {"strides", e.attributes().integers("stride")},
                 {"pads", pads_of(e)},
                 {"count_include_pad", std::int64_t{1}}})};
}

constexpr Exporter kWindows[] = {
    {"avg_pool2d", export_avg_pool2d},
    {"conv2d", export_conv2d},
    {"conv2d_input_grad", export_conv2d_input_grad},
    {"max_pool2d", export_max_pool2d},
};

}  // namespace

std::span<const Exporter> window_exporters() { return kWindows; }

}  // namespace weft::onnx
