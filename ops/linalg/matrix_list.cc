#include "weft/ops/linalg/matrix_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/ops/operands.h"

namespace weft {
namespace {

// The minimum amount of work in a chunk, and the speed of one worker.
constexpr double kFlopsPerChunk = 2e5;
constexpr double kFlopsPerNs = 2;
// Kernels with at most this many units reserve scratch for each unit instead of each worker, so
// that a few large matrices do not cause scratch to be reserved for every worker.
constexpr std::int64_t kUnitsWithOwnScratch = 4;

}  // namespace

Shape list_shape(const Shape& shape) {
  return Shape(std::vector<Dim>(shape.dims().begin(), shape.dims().end() - 2));
}

void require_square(const InferContext& c, int i, std::string_view what) {
  c.require_floating(i, what);
  c.require_min_rank(i, 2, what);
  const Shape& shape = c.shape(i);
  c.require_equal(shape[shape.rank() - 2], shape[shape.rank() - 1],
                  fmt::format("the rows and columns of {}", what));
}

MatrixList matrix_list(const Sizes& sizes) {
  const Sizes list(sizes.begin(), sizes.end() - 2);
  return {num_elements(list), sizes[sizes.size() - 2], sizes[sizes.size() - 1]};
}

bool writes(const KernelRequest& request) {
  return std::any_of(request.outputs.begin(), request.outputs.end(),
                     [](const OperandSpec& out) { return out.present && out.numel() > 0; });
}

Kernel unit_kernel(
    std::int64_t count, double unit_flops, std::initializer_list<Sizes> scratch,
    std::function<void(const KernelRun& run, std::int64_t unit, double* scratch)> body) {
  std::size_t bytes = 0;
  for (const Sizes& sizes : scratch) bytes += tensor_bytes(DType::f64, sizes);
  Kernel kernel;
  const bool own = count <= kUnitsWithOwnScratch;
  const std::size_t stride = (bytes + 63) / 64 * 64;
  if (own) {
    kernel.shared_scratch = static_cast<std::size_t>(count) * stride;
  } else {
    kernel.slot_scratch = bytes;
  }
  Phase phase;
  const double grain = std::min(kFlopsPerChunk / std::max(unit_flops, 1.0), 1e6);
  phase.chunks = chunk_count(count, static_cast<std::int64_t>(grain));
  phase.cost_ns = static_cast<double>(count) * (unit_flops / kFlopsPerNs + 20);
  phase.body = [count, own, stride, chunks = phase.chunks, body = std::move(body)](
                   const KernelRun& run, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(count, chunks, chunk);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      std::byte* const memory =
          own ? run.shared_scratch + static_cast<std::size_t>(unit) * stride : run.slot_scratch;
      body(run, unit, reinterpret_cast<double*>(memory));
    }
  };
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

Cost factorisation_cost(const KernelRequest& request,
                        double (*flops)(double rows, double columns)) {
  Cost cost;
  cost.bytes = operand_bytes(request);
  const Sizes& sizes = request.inputs[0].sizes;
  const double rows = static_cast<double>(sizes[sizes.size() - 2]);
  const double columns = static_cast<double>(sizes[sizes.size() - 1]);
  if (request.inputs[0].numel() == 0) return cost;
  const double count = static_cast<double>(request.inputs[0].numel()) / (rows * columns);
  cost.flops = count * flops(rows, columns);
  return cost;
}

}  // namespace weft
