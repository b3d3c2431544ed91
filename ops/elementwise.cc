#include "weft/ops/elementwise.h"

#include <fmt/format.h>

#include <cmath>

#include "weft/core/random.h"
#include "weft/ops/broadcast_plan.h"

namespace weft::elementwise {
namespace {

constexpr std::int64_t kGrain = 16384;
constexpr std::int64_t kMultiple = 64;  // a whole number of cache lines
constexpr std::size_t kMaxInputs = 4;

}  // namespace

Tensor sample_values(Sizes sizes, double low, double high, std::uint32_t seed, int side) {
  const double first = side > 0 ? 0.54 : 0.2, width = side == 0 ? 0.6 : 0.26;
  const RandomStream stream{seed, 0, 0};
  std::vector<float> values(static_cast<std::size_t>(num_elements(sizes)));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double halves =
        2 * (low + (high - low) * static_cast<double>(uniform_float(stream.word(i))));
    const double whole = std::floor(halves);
    values[i] = static_cast<float>((whole + first + width * (halves - whole)) / 2);
  }
  return Tensor::of<float>(std::move(sizes), values);
}

Kernel make_kernel(std::int64_t numel, double ns_per_element,
                   std::function<void(const KernelRun&, std::int64_t, std::int64_t)> body) {
  const std::int64_t chunks = chunk_count(numel, kGrain);
  Phase phase;
  phase.chunks = chunks;
  phase.cost_ns = ns_per_element * static_cast<double>(numel);
  phase.body = [numel, chunks, body = std::move(body)](const KernelRun& run, std::int64_t chunk) {
    const ChunkRange range = chunk_range(numel, chunks, chunk, kMultiple);
    if (range.begin < range.end) body(run, range.begin, range.end);
  };
  Kernel kernel;
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

Kernel make_row_kernel(const KernelRequest& request, const RowRule& row) {
  const std::size_t inputs = request.inputs.size();
  const OperandSpec& out = request.outputs[0];
  RowRequest wanted{{}, out.dtype, 0, request.attributes};
  std::vector<Sizes> sizes;
  std::array<std::size_t, kMaxInputs> element_size{};
  for (std::size_t i = 0; i < inputs; ++i) {
    wanted.inputs.push_back(request.inputs[i].dtype);
    sizes.push_back(request.inputs[i].sizes);
    element_size[i] = dtype_size(request.inputs[i].dtype);
  }
  BroadcastPlan plan(out.sizes, sizes);
  for (std::size_t i = 0; i < inputs; ++i) {
    if (plan.step(i) == 0) wanted.scalars |= 1u << i;
  }
  const RowKernel kernel = row(wanted);
  const std::size_t out_size = dtype_size(out.dtype);
  const std::int64_t numel = plan.numel();  // read before the plan is moved into the kernel
  return make_kernel(
      numel, kernel.ns_per_element,
      [=, plan = std::move(plan)](const KernelRun& run, std::int64_t begin, std::int64_t end) {
        plan.for_rows(begin, end,
                      [&](std::int64_t i, const std::int64_t* from, std::int64_t count) {
                        std::array<const void*, kMaxInputs> in;
                        for (std::size_t k = 0; k < inputs; ++k) {
                          in[k] = at(run.inputs[k], from[k], element_size[k]);
                        }
                        kernel(in.data(), at(run.outputs[0], i, out_size), count, i);
                      });
      });
}

void set_row(OpRecord& record, RowRule row) {
  record.row = row;
  record.kernel = [row = std::move(row)](const KernelRequest& request) {
    return make_row_kernel(request, row);
  };
}

void require_number(const InferContext& context, int i, std::string_view what) {
  const DType dtype = context.dtype(i);
  if (dtype != DType::f32 && dtype != DType::f64 && !is_integer(dtype)) {
    throw DTypeError(
        fmt::format("{} must be f32, f64 or an integer, but is {}; convert it with cast()", what,
                    dtype_name(dtype)));
  }
}

}  // namespace weft::elementwise
