#include "weft/ops/reductions/reduce_blocks.h"

#include <algorithm>
#include <utility>

#include "weft/core/rounding.h"
#include "weft/ops/kernels/elementwise/binary.h"
#include "weft/ops/kernels/elementwise/unary.h"
#include "weft/ops/kernels/reductions/reduce.h"

namespace weft {
namespace {

std::vector<ValueType> infer_block_sums(const InferContext& c) {
  c.require_floating(0, "x");
  if (c.has(1)) {
    c.require_dtype(1, c.dtype(0), "factor");
    c.require_shape(1, {}, "factor");
  }
  return {{DType::f64, {floor_div(c.shape(0).numel() + (kSumBlock - 1), kSumBlock)}}};
}

// Every chunk computes the sum of one block, so that the bits for a block do not depend on the
// number of blocks.
Kernel block_sums_kernel(const KernelRequest& r) {
  const OperandSpec& x = r.inputs[0];
  const std::int64_t elements = x.numel();
  const RowKernel square{.function = kernels::unary_row("square", x.dtype)};
  const RowKernel scale{.function = kernels::binary_row("mul", x.dtype), .scalars = 1u << 1};
  const bool squares = r.attributes.flag("squares"), scaled = r.has_input(1);
  Kernel kernel;
  if (squares || scaled) kernel.slot_scratch = kernels::kReduceBlock * dtype_size(x.dtype);
  Phase phase;
  phase.chunks = divide_up(elements, kSumBlock);
  phase.cost_ns = 0.3 * static_cast<double>(elements);
  phase.body = [=, dtype = x.dtype](const KernelRun& run, std::int64_t block) {
    constexpr std::int64_t kPart = kernels::kReduceBlock;
    const std::int64_t begin = block * kSumBlock, end = std::min(begin + kSumBlock, elements);
    kernels::BlockReduction sum(kernels::Reduction::sum, dtype);
    for (std::int64_t i = begin; i < end; i += kPart) {
      const std::int64_t n = std::min(kPart, end - i);
      const void* part = run.in<std::byte>(0) + static_cast<std::size_t>(i) * dtype_size(dtype);
      if (scaled) {
        const void* const operands[] = {part, run.inputs[1]};
        scale(operands, run.slot_scratch, n, i);
        part = run.slot_scratch;
      }
      if (squares) {
        square(&part, run.slot_scratch, n, i);
        part = run.slot_scratch;
      }
      sum.add(part, n);
    }
    run.out<double>(0)[block] = sum.total();
  };
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

Cost block_sums_cost(const KernelRequest& r) {
  const auto elements = static_cast<double>(r.inputs[0].numel());
  const int of_each = 1 + (r.attributes.flag("squares") ? 1 : 0) + (r.has_input(1) ? 1 : 0);
  return {elements * of_each, elements * static_cast<double>(dtype_size(r.inputs[0].dtype))};
}

}  // namespace

void add_block_sums_op(OpSet& ops) {
  OpRecord sums;
  sums.name = "block_sums";
  sums.doc =
      "Sums, or sums of squares, over blocks of 65,536 elements of x in row-major order (the last "
      "block may be shorter). x is first multiplied by the scalar `factor`, if it is given. "
      "Returns f64[blocks]. The bits for a block depend only on its elements.";
  sums.inputs = {{"x"}, {"factor", Arity::optional}};
  sums.attributes = {{"squares", false}};
  sums.infer = infer_block_sums;
  sums.kernel = block_sums_kernel;
  sums.cost = block_sums_cost;
  sums.gradient = Gradient::none;
  sums.no_gradient_reason = "created after differentiation, when a program is split among ranks";
  ops.add(std::move(sums));
}

}  // namespace weft
