// The records of layer_norm, rms_norm and their gradients.
#include <fmt/format.h>

#include "weft/ops/builtin.h"
#include "weft/ops/kernels/reductions/norm.h"

namespace weft {
namespace {

/// Returns the first normalised axis. Throws ShapeError if the attribute `axes` does not match x.
int first_axis(const InferContext& c, int x) {
  const std::int64_t axes = c.attributes().integer("axes");
  if (axes < 1 || axes > c.rank(x)) {
    throw ShapeError(fmt::format(
        "axes, the number of trailing axes of x {} to normalise, must be from 1 to {}, not {}",
        c.input(x).str(), c.rank(x), axes));
  }
  return c.rank(x) - static_cast<int>(axes);
}

Shape part(const Shape& shape, int begin, int end) {
  return Shape(std::vector<Dim>(shape.begin() + begin, shape.begin() + end));
}

void require_eps(const InferContext& c) {
  if (!(c.attributes().real("eps") >= 0)) {
    throw ArgumentError(
        fmt::format("eps must not be negative, but is {}", c.attributes().real("eps")));
  }
}

void require_parameter(const InferContext& c, int i, int x, const Shape& shape,
                       std::string_view what) {
  if (!c.has(i)) return;
  c.require_dtype(i, c.dtype(x), what);
  c.require_shape(i, shape, what);
}

std::vector<ValueType> infer_norm(const InferContext& c, int first) {
  c.require_floating(0, "x");
  require_eps(c);
  const Shape normalized = part(c.shape(0), first, c.rank(0));
  require_parameter(c, 1, 0, normalized, "gain");
  require_parameter(c, 2, 0, normalized, "bias");
  return {c.input(0), {c.dtype(0), part(c.shape(0), 0, first)}};
}

std::vector<ValueType> infer_layer_norm(const InferContext& c) {
  c.require_min_rank(0, 1, "x");
  auto types = infer_norm(c, first_axis(c, 0));
  types.push_back(types[1]);
  return types;
}

std::vector<ValueType> infer_rms_norm(const InferContext& c) {
  c.require_min_rank(0, 1, "x");
  return infer_norm(c, c.rank(0) - 1);
}

/// The shape rule of the gradient ops. Their operands are g, x, an optional gain and the statistics
/// of each row.
std::vector<ValueType> infer_norm_grad(const InferContext& c, int first,
                                       std::initializer_list<std::string_view> statistics) {
  c.require_floating(1, "x");
  c.require_dtype(0, c.dtype(1), "g");
  c.require_shape(0, c.shape(1), "g");
  const Shape normalized = part(c.shape(1), first, c.rank(1));
  require_parameter(c, 2, 1, normalized, "gain");
  int i = 3;
  for (const std::string_view name : statistics) {
    c.require_dtype(i, c.dtype(1), name);
    c.require_shape(i++, part(c.shape(1), 0, first), name);
  }
  return {c.input(1), {c.dtype(1), c.has(2) ? normalized : Shape{0}}, {c.dtype(1), normalized}};
}

std::vector<ValueType> infer_layer_norm_grad(const InferContext& c) {
  c.require_min_rank(1, 1, "x");
  return infer_norm_grad(c, first_axis(c, 1), {"mean", "rstd"});
}

std::vector<ValueType> infer_rms_norm_grad(const InferContext& c) {
  c.require_min_rank(1, 1, "x");
  auto types = infer_norm_grad(c, c.rank(1) - 1, {"rstd"});
  types.pop_back();
  return types;
}

struct Rows {
  std::int64_t rows = 1, n = 1;
};

Rows split(const Sizes& sizes, std::int64_t axes) {
  Rows r;
  const std::size_t first = sizes.size() - static_cast<std::size_t>(axes);
  for (std::size_t i = 0; i < sizes.size(); ++i) (i < first ? r.rows : r.n) *= sizes[i];
  return r;
}

template <class T>
T* output(const KernelRun& run, const KernelRequest& request, std::size_t i) {
  return request.has_output(i) ? run.out<T>(i) : nullptr;
}
template <class T>
const T* input(const KernelRun& run, const KernelRequest& request, std::size_t i) {
  return request.has_input(i) ? run.in<T>(i) : nullptr;
}

template <class T>
Kernel forward_kernel(const KernelRequest& request, bool centered) {
  const auto [rows, n] =
      split(request.inputs[0].sizes, centered ? request.attributes.integer("axes") : 1);
  Phase phase;
  phase.chunks =
      chunk_count(rows, std::max<std::int64_t>(1, (1 << 14) / std::max<std::int64_t>(n, 1)));
  phase.cost_ns = static_cast<double>(rows * n);
  phase.body = [=, rows = rows, n = n, eps = request.attributes.real("eps"), chunks = phase.chunks](
                   const KernelRun& run, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(rows, chunks, chunk);
    NormRows<T> args;
    args.x = run.in<T>(0);
    args.gain = input<T>(run, request, 1);
    args.y = output<T>(run, request, 0);
    if (centered) {
      args.bias = input<T>(run, request, 2);
      args.mean = output<T>(run, request, 1);
    }
    args.rstd = output<T>(run, request, centered ? 2 : 1);
    args.n = n;
    args.eps = eps;
    args.centered = centered;
    norm_rows(args, begin, end);
  };
  Kernel kernel;
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

/// The maximum number of row blocks with separate partial sums of the parameter gradients.
constexpr std::int64_t kMaxRowBlocks = 64;

template <class T>
Kernel backward_kernel(const KernelRequest& request, bool centered) {
  const auto [rows, n] =
      split(request.inputs[1].sizes, centered ? request.attributes.integer("axes") : 1);
  const bool want_gain = request.has_output(1) && request.has_input(2);
  const bool want_bias = centered && request.has_output(2);
  const std::int64_t width = std::max<std::int64_t>(n, 1);
  const std::int64_t grain =
      std::max({std::int64_t{1}, (1 << 14) / width, (rows + kMaxRowBlocks - 1) / kMaxRowBlocks});
  const std::int64_t blocks = chunk_count(rows, grain);

  Kernel kernel;
  // Partial sums: [blocks][gain, bias][n].
  kernel.shared_scratch = static_cast<std::size_t>(blocks * 2 * n) * sizeof(T);
  Phase rows_phase;
  rows_phase.chunks = blocks;
  rows_phase.cost_ns = 2.0 * static_cast<double>(rows * n);
  rows_phase.body = [=, rows = rows, n = n](const KernelRun& run, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(rows, blocks, chunk);
    NormGradRows<T> args;
    args.g = run.in<T>(0);
    args.x = run.in<T>(1);
    args.gain = input<T>(run, request, 2);
    args.mean = centered ? run.in<T>(3) : nullptr;
    args.rstd = run.in<T>(centered ? 4 : 3);
    args.dx = output<T>(run, request, 0);
    args.n = n;
    args.centered = centered;
    T* partial = reinterpret_cast<T*>(run.shared_scratch) + chunk * 2 * n;
    norm_grad_rows(args, begin, end, want_gain ? partial : nullptr,
                   want_bias ? partial + n : nullptr);
  };
  kernel.phases.push_back(std::move(rows_phase));
  if (!want_gain && !want_bias) return kernel;

  Phase sums;  // adds the sums of all blocks, in index order
  sums.chunks = chunk_count(n, 1 << 10);
  sums.cost_ns = static_cast<double>(blocks * n);
  sums.body = [=, n = n, chunks = sums.chunks](const KernelRun& run, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(n, chunks, chunk);
    const T* partial = reinterpret_cast<const T*>(run.shared_scratch);
    for (std::size_t which = 0; which < 2; ++which) {
      if (!(which == 0 ? want_gain : want_bias)) continue;
      T* out = run.out<T>(1 + which);
      for (std::int64_t i = begin; i < end; ++i) {
        double sum = 0;
        for (std::int64_t b = 0; b < blocks; ++b) {
          sum += static_cast<double>(partial[(b * 2 + which) * n + i]);
        }
        out[i] = static_cast<T>(sum);
      }
    }
  };
  kernel.phases.push_back(std::move(sums));
  return kernel;
}

template <bool centered>
Kernel norm_kernel(const KernelRequest& request) {
  return request.inputs[0].dtype == DType::f32 ? forward_kernel<float>(request, centered)
                                               : forward_kernel<double>(request, centered);
}
template <bool centered>
Kernel norm_grad_kernel(const KernelRequest& request) {
  return request.inputs[1].dtype == DType::f32 ? backward_kernel<float>(request, centered)
                                               : backward_kernel<double>(request, centered);
}

Cost norm_cost(const KernelRequest& request) {
  const double n = static_cast<double>(request.inputs[0].numel());
  return {.flops = 8 * n,
          .bytes = 2 * n * static_cast<double>(dtype_size(request.inputs[0].dtype))};
}
Cost norm_grad_cost(const KernelRequest& request) {
  const double n = static_cast<double>(request.inputs[0].numel());
  return {.flops = 16 * n,
          .bytes = 3 * n * static_cast<double>(dtype_size(request.inputs[0].dtype))};
}

}  // namespace

void NormOps::add(OpSet& ops) {
  OpRecord layer;
  layer.name = "layer_norm";
  layer.doc =
      "(x - mean) * rstd * gain + bias over the last `axes` axes, rstd = 1/sqrt(var + eps), var "
      "without Bessel's correction (Ba et al. 2016). gain and bias have the shape of the "
      "normalised axes, mean and rstd have the shape of the other axes.";
  layer.inputs = {{"x"}, {"gain", Arity::optional}, {"bias", Arity::optional}};
  layer.attributes = {{"axes", std::int64_t{1}}, {"eps", 1e-5}};
  layer.outputs = {"out", "mean", "rstd"};
  layer.inplace = {{0, 0}};
  layer.infer = infer_layer_norm;
  layer.kernel = norm_kernel<true>;
  layer.cost = norm_cost;
  ops.add(std::move(layer));

  OpRecord layer_grad;
  layer_grad.name = "layer_norm_grad";
  layer_grad.doc =
      "Gradients of layer_norm: with xhat = (x - mean) * rstd and h = g * gain, dx = rstd * (h "
      "- mean(h) - xhat * mean(h * xhat)), dgain = sum(g * xhat) and dbias = sum(g) over the "
      "rows. dgain has shape [0] without gain.";
  layer_grad.inputs = {{"g"}, {"x"}, {"gain", Arity::optional}, {"mean"}, {"rstd"}};
  layer_grad.attributes = {{"axes", std::int64_t{1}}};
  layer_grad.outputs = {"dx", "dgain", "dbias"};
  layer_grad.inplace = {{0, 0}, {0, 1}};
  layer_grad.infer = infer_layer_norm_grad;
  layer_grad.kernel = norm_grad_kernel<true>;
  layer_grad.cost = norm_grad_cost;
  layer_grad.gradient = Gradient::decomposition;
  ops.add(std::move(layer_grad));

  OpRecord rms;
  rms.name = "rms_norm";
  rms.doc =
      "x * rstd * gain over the last axis, rstd = 1/sqrt(mean(x^2) + eps) (Zhang and Sennrich "
      "2019).";
  rms.inputs = {{"x"}, {"gain", Arity::optional}};
  rms.attributes = {{"eps", 1e-5}};
  rms.outputs = {"out", "rstd"};
  rms.inplace = {{0, 0}};
  rms.infer = infer_rms_norm;
  rms.kernel = norm_kernel<false>;
  rms.cost = norm_cost;
  ops.add(std::move(rms));

  OpRecord rms_grad;
  rms_grad.name = "rms_norm_grad";
  rms_grad.doc =
      "Gradients of rms_norm: with xhat = x * rstd and h = g * gain, dx = rstd * (h - xhat * "
      "mean(h * xhat)), dgain = sum(g * xhat) over the rows (shape [0] without gain).";
  rms_grad.inputs = {{"g"}, {"x"}, {"gain", Arity::optional}, {"rstd"}};
  rms_grad.outputs = {"dx", "dgain"};
  rms_grad.inplace = {{0, 0}, {0, 1}};
  rms_grad.infer = infer_rms_norm_grad;
  rms_grad.kernel = norm_grad_kernel<false>;
  rms_grad.cost = norm_grad_cost;
  rms_grad.gradient = Gradient::decomposition;
  ops.add(std::move(rms_grad));
}

}  // namespace weft
