// The records of softmax and log_softmax over one axis.
#include <fmt/format.h>

#include "weft/ops/builtin.h"
#include "weft/ops/kernels/reductions/softmax.h"

namespace weft {
namespace {

std::vector<ValueType> infer_softmax(const InferContext& c) {
  c.require_floating(0, "x");
  c.require_min_rank(0, 1, "x");
  const std::int64_t axis = c.attributes().integer("axis");
  if (axis < 0 || axis >= c.rank(0)) {
    throw ShapeError(fmt::format("axis {} is not an axis of x, {}; it must be from 0 to {}", axis,
                                 c.input(0).str(), c.rank(0) - 1));
  }
  return {c.input(0)};
}

/// The number of columns per piece of work if the axis is not the last axis. It is a multiple of
/// the number of lanes of all vector types.
constexpr std::int64_t kSoftmaxColumns = 64;

template <class T, bool log>
Kernel make_kernel(const Sizes& sizes, std::size_t axis) {
  const std::int64_t n = sizes[axis];
  std::int64_t outer = 1, inner = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= sizes[i];
  for (std::size_t i = axis + 1; i < sizes.size(); ++i) inner *= sizes[i];
  const std::int64_t blocks = (inner + kSoftmaxColumns - 1) / kSoftmaxColumns;
  const std::int64_t units = inner == 1 ? outer : outer * blocks;
  const std::int64_t unit_size = std::max<std::int64_t>(n, 1) * (inner == 1 ? 1 : kSoftmaxColumns);
  Phase phase;
  phase.chunks = n == 0 ? 1 : chunk_count(units, std::max<std::int64_t>(1, (1 << 14) / unit_size));
  phase.cost_ns = static_cast<double>(outer * n * inner);
  phase.body = [=, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    if (n == 0) return;
    const T* x = run.in<T>(0);
    T* y = run.out<T>(0);
    const auto [begin, end] = chunk_range(units, chunks, chunk);
    if (inner == 1) {
      softmax_rows(x + begin * n, y + begin * n, end - begin, n, log);
      return;
    }
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t offset = unit / blocks * n * inner,
                         first = unit % blocks * kSoftmaxColumns;
      softmax_columns(x + offset, y + offset, n, inner, first,
                      std::min(inner, first + kSoftmaxColumns), log);
    }
  };
  Kernel kernel;
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

template <bool log>
Kernel softmax_kernel(const KernelRequest& request) {
  const auto axis = static_cast<std::size_t>(request.attributes.integer("axis"));
  const OperandSpec& x = request.inputs[0];
  return x.dtype == DType::f32 ? make_kernel<float, log>(x.sizes, axis)
                               : make_kernel<double, log>(x.sizes, axis);
}

Cost softmax_cost(const KernelRequest& request) {
  const double n = static_cast<double>(request.inputs[0].numel());
  return {.flops = 5 * n,
          .bytes = 2 * n * static_cast<double>(dtype_size(request.inputs[0].dtype))};
}

OpRecord softmax_record(std::string name, std::string doc) {
  OpRecord r;
  r.name = std::move(name);
  r.doc = std::move(doc);
  r.inputs = {{"x"}};
  r.attributes = {{"axis", std::int64_t{0}, true}};
  r.inplace = {{0, 0}};
  r.infer = infer_softmax;
  r.cost = softmax_cost;
  return r;
}

}  // namespace

void SoftmaxOps::add(OpSet& ops) {
  OpRecord softmax = softmax_record(
      "softmax",
      "exp(x - max) / sum(exp(x - max)) along `axis`. The result is NaN for a slice that is "
      "-inf everywhere.");
  softmax.kernel = softmax_kernel<false>;
  ops.add(std::move(softmax));
  OpRecord log_softmax =
      softmax_record("log_softmax", "x - max - ln(sum(exp(x - max))) along `axis`.");
  log_softmax.kernel = softmax_kernel<true>;
  ops.add(std::move(log_softmax));
}

}  // namespace weft
