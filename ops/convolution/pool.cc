// The records of max_pool2d, avg_pool2d and the adjoint of avg_pool2d.
#include <fmt/format.h>

#include "weft/ops/builtin.h"
#include "weft/ops/convolution/window.h"
#include "weft/ops/kernels/convolution/max_pool.h"
#include "weft/ops/kernels/convolution/pool.h"

namespace weft {
namespace {

using kernels::PoolGeometry;
using Ints = std::vector<std::int64_t>;

Windows windows_of(const Attributes& attributes) {
  const auto kernel = window_pair(attributes, "kernel", 1);
  const Windows windows(attributes, kernel[0], kernel[1]);
  for (const Window& w : {windows.height, windows.width}) {
    if (2 * w.padding <= w.kernel) continue;
    throw ArgumentError(fmt::format(
        "padding must be at most half the kernel, so that every window touches the image, but is "
        "{} for a kernel of {}",
        w.padding, w.kernel));
  }
  return windows;
}

Shape pooled_shape(const InferContext& c) {
  c.require_floating(0, "x");
  c.require_rank(0, 4, "x [N, C, H, W]");
  const Shape& x = c.shape(0);
  const auto out = windows_of(c.attributes()).positions(x[2], x[3]);
  return {x[0], x[1], out[0], out[1]};
}

// Windows over an image without pixels contain only padding. The mean of such a window is 0, but
// its maximum has no index.
void require_pixels(const Dim& height, const Dim& width) {
  if (height != Dim(0) && width != Dim(0)) return;
  throw ShapeError(
      fmt::format("max_pool2d requires an image with at least one pixel, but the image is {} "
                  "x {}",
                  height.str(), width.str()));
}

std::vector<ValueType> infer_max_pool(const InferContext& c) {
  const Shape out = pooled_shape(c);
  require_pixels(c.shape(0)[2], c.shape(0)[3]);
  return {{c.dtype(0), out}, {DType::i64, out}};
}

std::vector<ValueType> infer_avg_pool(const InferContext& c) {
  return {{c.dtype(0), pooled_shape(c)}};
}

std::vector<ValueType> infer_avg_pool_grad(const InferContext& c) {
  c.require_floating(0, "g");
  c.require_rank(0, 4, "g [N, C, OH, OW]");
  const Shape& g = c.shape(0);
  const Dim &height = c.attributes().dim("height"), &width = c.attributes().dim("width");
  const auto out = windows_of(c.attributes()).positions(height, width);
  c.require_shape(0, {g[0], g[1], out[0], out[1]}, "g");
  return {{c.dtype(0), {g[0], g[1], height, width}}};
}

// Throws ShapeError if the windows do not fit into the image.
PoolGeometry geometry(const Attributes& attributes, const Sizes& x, const Sizes& out) {
  const Windows windows = windows_of(attributes);
  windows.require_fit(x);
  const auto& [height, width] = windows;
  return {x[2],         x[3],          out[2],       out[3],         height.kernel,
          width.kernel, height.stride, width.stride, height.padding, width.padding};
}

// Returns a kernel with one phase that calls body(run, plane) for all planes (images x channels).
template <class Fn>
Kernel plane_kernel(const PoolGeometry& g, const Sizes& sizes, Fn body) {
  const std::int64_t planes = sizes[0] * sizes[1];
  // The total work, with the window size limited to the size of the image.
  const double work = static_cast<double>(g.out_height * g.out_width) *
                      static_cast<double>(std::min(g.kernel_height, g.height)) *
                      static_cast<double>(std::min(g.kernel_width, g.width));
  Phase phase;
  phase.chunks = chunk_count(planes, static_cast<std::int64_t>(16384 / std::max(work, 1.0)));
  phase.cost_ns = static_cast<double>(planes) * work;
  phase.body = [=, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(planes, chunks, chunk);
    for (std::int64_t plane = begin; plane < end; ++plane) body(run, plane);
  };
  Kernel kernel;
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

template <class T>
Kernel make_max_pool(const KernelRequest& r) {
  const PoolGeometry g = geometry(r.attributes, r.inputs[0].sizes, r.outputs[0].sizes);
  require_pixels(r.inputs[0].sizes[2], r.inputs[0].sizes[3]);
  const bool values = r.has_output(0), places = r.has_output(1);
  return plane_kernel(g, r.inputs[0].sizes, [=](const KernelRun& run, std::int64_t plane) {
    const std::int64_t positions = g.out_height * g.out_width;
    if (values && !places) {
      kernels::max_pool_values(g, run.in<T>(0) + plane * g.height * g.width,
                               run.out<T>(0) + plane * positions);
      return;
    }
    kernels::max_pool_plane(g, run.in<T>(0) + plane * g.height * g.width,
                            values ? run.out<T>(0) + plane * positions : nullptr,
                            places ? run.out<std::int64_t>(1) + plane * positions : nullptr);
  });
}

template <class T>
Kernel make_avg_pool(const KernelRequest& r) {
  const PoolGeometry g = geometry(r.attributes, r.inputs[0].sizes, r.outputs[0].sizes);
  return plane_kernel(g, r.inputs[0].sizes, [=](const KernelRun& run, std::int64_t plane) {
    kernels::avg_pool_plane(g, run.in<T>(0) + plane * g.height * g.width,
                            run.out<T>(0) + plane * g.out_height * g.out_width);
  });
}

template <class T>
Kernel make_avg_pool_grad(const KernelRequest& r) {
  const PoolGeometry g = geometry(r.attributes, r.outputs[0].sizes, r.inputs[0].sizes);
  return plane_kernel(g, r.inputs[0].sizes, [=](const KernelRun& run, std::int64_t plane) {
    kernels::avg_pool_grad_plane(g, run.in<T>(0) + plane * g.out_height * g.out_width,
                                 run.out<T>(0) + plane * g.height * g.width);
  });
}

Kernel max_pool_kernel(const KernelRequest& r) {
  return r.inputs[0].dtype == DType::f32 ? make_max_pool<float>(r) : make_max_pool<double>(r);
}
Kernel avg_pool_kernel(const KernelRequest& r) {
  return r.inputs[0].dtype == DType::f32 ? make_avg_pool<float>(r) : make_avg_pool<double>(r);
}
Kernel avg_pool_grad_kernel(const KernelRequest& r) {
  return r.inputs[0].dtype == DType::f32 ? make_avg_pool_grad<float>(r)
                                         : make_avg_pool_grad<double>(r);
}

// Returns a cost of one FLOP per window element.
Cost pool_cost(const KernelRequest& r) {
  const auto& kernel = r.attributes.integers("kernel");
  const std::int64_t windows = std::min(r.inputs[0].numel(), r.outputs[0].numel());
  return {.flops = static_cast<double>(windows) * static_cast<double>(kernel[0] * kernel[1]),
          .bytes = static_cast<double>(r.inputs[0].numel() + r.outputs[0].numel()) *
                   static_cast<double>(dtype_size(r.inputs[0].dtype))};
}

OpRecord pool_record(std::string name, std::string operand, std::string doc) {
  OpRecord r;
  r.name = std::move(name);
  r.doc = std::move(doc);
  r.inputs = {{std::move(operand)}};
  r.attributes = {
      {"kernel", Ints{1, 1}, true}, {"stride", Ints{1, 1}, true}, {"padding", Ints{0, 0}}};
  r.cost = pool_cost;
  return r;
}

}  // namespace

void PoolOps::add(OpSet& ops) {
  OpRecord max = pool_record(
      "max_pool2d", "x",
      "Maximum over windows of x [N, C, H, W]; output sizes are rounded "
      "down and padding counts as -inf. `index` is the position of the "
      "maximum in its H * W plane; ties are resolved in favour of the first element. NaN counts as "
      "larger than every number. The image must have at least one pixel.");
  max.outputs = {"out", "index"};
  max.infer = infer_max_pool;
  max.kernel = max_pool_kernel;
  ops.add(std::move(max));

  OpRecord avg = pool_record("avg_pool2d", "x",
                             "Mean over windows of x [N, C, H, W]; output sizes are rounded "
                             "down and padding counts as zeros in the mean.");
  avg.infer = infer_avg_pool;
  avg.kernel = avg_pool_kernel;
  ops.add(std::move(avg));

  OpRecord grad =
      pool_record("avg_pool2d_grad", "g",
                  "The adjoint of avg_pool2d for an image of `height` x `width` pixels.");
  grad.attributes.push_back({"height", Dim(1), true});
  grad.attributes.push_back({"width", Dim(1), true});
  grad.infer = infer_avg_pool_grad;
  grad.kernel = avg_pool_grad_kernel;
  ops.add(std::move(grad));
}

}  // namespace weft
