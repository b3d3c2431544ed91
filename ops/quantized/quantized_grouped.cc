// quantized_grouped_matmul, which passes substitute for a grouped product with dequantised
// matrices. Its gradient with respect to x is a product with the transposed matrices.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "weft/core/error.h"
#include "weft/ops/builtin.h"
#include "weft/ops/gemm/group_sizes.h"
#include "weft/ops/gemm/grouped_job.h"
#include "weft/ops/operands.h"
#include "weft/ops/quantized/quantized_blocks.h"

namespace weft {
namespace {

using gemm_detail::Range;

constexpr int kSizes = 3;  // input

std::vector<ValueType> infer_quantized_grouped(const InferContext& c) {
  c.require_floating(0, "x");
  c.require_rank(0, 2, "x");
  const std::int64_t columns = c.attributes().integer("outputs");
  const Dim depth = c.shape(0)[1];
  if (!depth.is_constant()) {
    throw ShapeError(
        fmt::format("the last axis of x must have a fixed size, but is {}", depth.str()));
  }
  const Dim groups = group_count(c, kSizes);
  if (!groups.is_constant()) {
    throw ShapeError(fmt::format("sizes must have a fixed size, but has {}", groups.str()));
  }
  const bool transpose = c.attributes().flag("transpose");
  check_quantized(c, 1, 2, transpose ? columns : depth.constant(),
                  transpose ? depth.constant() : columns, c.dtype(0), groups.constant());
  return {{c.dtype(0), {c.shape(0)[0], columns}}};
}

// A product of the rows of each group with its matrix or the transpose.
struct GroupedProduct {
  QuantizedOperands w;
  bool transpose = false;
  bool batch_invariant = false;
  DType sizes = DType::i64;
  std::int64_t rows = 0;

  std::int64_t columns() const { return transpose ? w.inputs : w.outputs; }
  std::int64_t depth() const { return transpose ? w.outputs : w.inputs; }
  std::int64_t blocks() const { return divide_up(columns(), kBlockWidth); }

  void in_double(const KernelRun& run, std::int64_t group, const Range& rows,
                 const Range& to) const {
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      const double* x = run.in<double>(0) + r * depth();
      for (std::int64_t j = to.begin; j < to.end; ++j) {
        double sum = 0;
        for (std::int64_t i = 0; i < depth(); ++i)
          sum += x[i] * (transpose ? w.weight(run, j, i, group) : w.weight(run, i, j, group));
        run.out<double>(0)[r * columns() + j] = sum;
      }
    }
  }
  // Computes columns `to`, which are one block, of the rows of a group.
  void in_float(const KernelRun& run, std::int64_t group, const Range& rows,
                const Range& to) const {
    const kernels::QuantizedWeights matrix = w.at(run, group);
    const float* const x = run.in<float>(0) + rows.begin * depth();
    float* const out = run.out<float>(0) + rows.begin * columns();
    const std::int64_t begin = to.begin / kQuantizedPanel, end = divide_up(to.end, kQuantizedPanel);
    if (transpose) {
      multiply_transposed(matrix, x, rows.size(), to.begin, to.end, out, run.slot_scratch,
                          batch_invariant);
    } else if (rows.size() > kFewQuantizedRows && !batch_invariant) {
      multiply_panels(matrix, x, rows.size(), begin, end, out, run.slot_scratch);
    } else {
      for (std::int64_t r = 0; r < rows.size(); r += kFewQuantizedRows) {
        const std::int64_t count = std::min(kFewQuantizedRows, rows.size() - r);
        kernels::prepare_rows(matrix, x + r * depth(), count, run.slot_scratch);
        kernels::quantized_product(matrix, x + r * depth(), run.slot_scratch, count, begin, end,
                                   out + r * columns(), batch_invariant);
      }
    }
  }
  void fill_zeros(const KernelRun& run, DType dtype, const Range& rows, const Range& to) const {
    const std::size_t size = dtype_size(dtype);
    for (std::int64_t r = rows.begin; r < rows.end; ++r) {
      std::memset(static_cast<std::byte*>(run.outputs[0]) +
                      static_cast<std::size_t>(r * columns() + to.begin) * size,
                  0, static_cast<std::size_t>(to.size()) * size);
    }
  }
};

Kernel quantized_grouped_kernel(const KernelRequest& r) {
  GroupedProduct p;
  p.transpose = r.attributes.flag("transpose");
  const std::int64_t depth = r.inputs[0].sizes[1], columns = r.outputs[0].sizes[1];
  p.w = p.transpose ? quantized_operands(r, 1, columns, depth)
                    : quantized_operands(r, 1, depth, columns);
  p.batch_invariant = r.batch_invariant;
  p.sizes = r.inputs[kSizes].dtype;
  p.rows = r.outputs[0].sizes[0];
  const std::int64_t groups = r.inputs[kSizes].sizes[0];
  const DType dtype = r.outputs[0].dtype;
  Kernel kernel;
  kernel.check = group_check(r, kSizes, p.rows);
  kernel.slot_scratch =
      std::max(block_scratch_bytes(p.rows),
               kernels::prepared_rows_bytes(p.w.inputs, std::min(p.rows, kFewQuantizedRows)));
  const std::int64_t used = std::max<std::int64_t>(1, std::min(groups, p.rows));
  Phase phase = gemm_detail::product_phase(gemm_detail::multiply_adds(p.rows, columns, depth),
                                           used * std::max<std::int64_t>(1, p.blocks()));
  phase.cost_ns =
      std::max(phase.cost_ns, static_cast<double>(used * p.w.panels()) *
                                  static_cast<double>(p.w.panel_bytes()) / kQuantizedBytesPerNs);
  phase.body = [=, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const gemm_detail::GroupRows all{run.inputs[kSizes], p.sizes, groups, p.rows};
    // A unit is a block of columns of all rows of a group.
    const auto units = [&](std::int64_t, const Range& rows) -> gemm_detail::GroupUnits {
      if (rows.size() == 0) return {};
      return {.count = p.blocks(), .weight = rows.size() + gemm_detail::kRowsOfOverhead};
    };
    gemm_detail::run_units(all, chunks, chunk, units, [&](const gemm_detail::GroupUnit& unit) {
      const std::int64_t begin = unit.index * kBlockWidth;
      const Range to{begin, std::min(begin + kBlockWidth, columns)};
      if (unit.group == groups || depth == 0) {
        p.fill_zeros(run, dtype, unit.rows, to);
      } else if (dtype == DType::f64) {
        p.in_double(run, unit.group, unit.rows, to);
      } else {
        p.in_float(run, unit.group, unit.rows, to);
      }
    });
  };
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

// As for grouped_matmul: every row belongs to a group, and matrices of empty groups are not read.
Cost quantized_grouped_cost(const KernelRequest& r) {
  const double rows = static_cast<double>(r.inputs[0].sizes[0]),
               groups = static_cast<double>(r.inputs[kSizes].sizes[0]);
  double weights = 0;
  for (const std::size_t i : {1, 2}) {
    weights += static_cast<double>(r.inputs[i].numel()) *
               static_cast<double>(dtype_size(r.inputs[i].dtype));
  }
  return {.flops = 2 * static_cast<double>(r.outputs[0].numel()) *
                   static_cast<double>(r.inputs[0].sizes[1]),
          .bytes = operand_bytes(r) - weights * (1 - read_share(rows, groups))};
}

}  // namespace

void QuantizedGroupedOps::add(OpSet& ops) {
  OpRecord r;
  r.name = "quantized_grouped_matmul";
  r.doc = std::string(kQuantizedLayout) +
          "Here q and scale have a first axis with one matrix per group. Returns "
          "grouped_matmul(x, dequantize(q, scale), sizes), or with the transposes of the matrices. "
          "`outputs` is the size of the last axis of the result.";
  r.inputs = {{"x"}, {"q"}, {"scale"}, {"sizes"}};
  r.attributes = {{"outputs", std::int64_t{0}, /*required=*/true}, {"transpose", false}};
  r.infer = infer_quantized_grouped;
  r.kernel = quantized_grouped_kernel;
  r.cost = quantized_grouped_cost;
  r.gradient = Gradient::none;
  r.no_gradient_reason =
      "created by a pass; grouped_matmul(x, dequantize(q, scale), sizes) is differentiable in x";
  ops.add(std::move(r));
}

}  // namespace weft
