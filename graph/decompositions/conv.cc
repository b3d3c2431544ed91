// conv2d and avg_pool2d as sums over the taps of the kernel: each tap reads a strided slice of the
// padded image.
#include "weft/graph/decompositions/decomposition.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/graph/functions/shape.h"

namespace weft {
namespace {

using Ints = std::vector<std::int64_t>;

Value padded(Value x, const Ints& padding) {
  return pad(x, {{0, 0}, {0, 0}, {padding[0], padding[0]}, {padding[1], padding[1]}});
}

// Returns the image elements that the kernel tap at (y, x) reads for all output positions,
// [N, C, OH, OW].
Value tap_view(Value image, const Shape& out, std::int64_t y, std::int64_t x, const Ints& stride) {
  const Shape starts{Dim(0), Dim(0), Dim(y), Dim(x)};
  const Shape sizes{image.shape()[0], image.shape()[1], out[2], out[3]};
  return image.graph()
      .apply("slice", {image},
             {{"starts", starts}, {"sizes", sizes}, {"steps", Ints{1, 1, stride[0], stride[1]}}})
      .output(0);
}

std::vector<Value> decompose_conv2d(const Node& node, const std::vector<Value>& in, Graph&) {
  const Attributes& a = node.attributes();
  const Ints &stride = a.integers("stride"), &dilation = a.integers("dilation");
  const Dim groups = a.integer("groups");
  const Value image = padded(in[0], a.integers("padding")), w = in[1];
  const Shape& out = node.type(0).shape;
  const Shape per_group{groups, exact_div(w.shape()[0], groups), w.shape()[1]};
  const Shape patches{out[0], groups, w.shape()[1], out[2] * out[3]};
  Value total;
  for (std::int64_t y = 0; y < w.shape()[2].constant(); ++y) {
    for (std::int64_t x = 0; x < w.shape()[3].constant(); ++x) {
      const Value seen = tap_view(image, out, y * dilation[0], x * dilation[1], stride);
      const Value weights = reshape(select(select(w, 3, Dim(x)), 2, Dim(y)), per_group);
      const Value part = matmul(weights, reshape(seen, patches));
      total = total.defined() ? total + part : part;
    }
  }
  return {reshape(total, out)};
}

std::vector<Value> decompose_avg_pool2d(const Node& node, const std::vector<Value>& in, Graph&) {
  const Attributes& a = node.attributes();
  const Ints& kernel = a.integers("kernel");
  const Value image = padded(in[0], a.integers("padding"));
  Value total;
  for (std::int64_t y = 0; y < kernel[0]; ++y) {
    for (std::int64_t x = 0; x < kernel[1]; ++x) {
      const Value seen = tap_view(image, node.type(0).shape, y, x, a.integers("stride"));
      total = total.defined() ? total + seen : seen;
    }
  }
  return {total / static_cast<double>(kernel[0] * kernel[1])};
}

}  // namespace

void add_conv_decompositions(DecompositionSet& set) {
  set.add("conv2d", decompose_conv2d);
  set.add("avg_pool2d", decompose_avg_pool2d);
}

}  // namespace weft
