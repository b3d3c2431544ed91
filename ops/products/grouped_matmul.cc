// The records of grouped_matmul and grouped_outer, the matrix products of mixtures of experts.
#include <fmt/format.h>

#include "weft/ops/builtin.h"
#include "weft/ops/gemm/group_sizes.h"
#include "weft/ops/gemm/grouped.h"
#include "weft/ops/gemm/operands.h"

namespace weft {
namespace {

constexpr int kSizesInput = 2;

/// Checks the precision and the sizes, and returns the number of groups.
Dim checked_groups(const InferContext& c) {
  if (const std::string& own = c.attributes().text("precision"); !own.empty()) parse_precision(own);
  return group_count(c, kSizesInput);
}

std::vector<ValueType> infer_grouped_matmul(const InferContext& c) {
  const DType dtype = product_dtype(c, "x", "w");
  c.require_rank(0, 2, "x");
  c.require_rank(1, 3, "w");
  const bool transposed = c.attributes().flag("transpose_w");
  const Shape &x = c.shape(0), &w = c.shape(1);
  const int summed = transposed ? 2 : 1;
  c.require_equal(x[1], w[summed],
                  fmt::format("the summed axes of x (axis 1) and w (axis {})", summed));
  c.require_equal(w[0], checked_groups(c), "the number of groups in w (axis 0) and sizes (axis 0)");
  return {{dtype, {x[0], w[transposed ? 1 : 2]}}};
}

std::vector<ValueType> infer_grouped_outer(const InferContext& c) {
  const DType dtype = product_dtype(c, "a", "b");
  c.require_rank(0, 2, "a");
  c.require_rank(1, 2, "b");
  const Shape &a = c.shape(0), &b = c.shape(1);
  c.require_equal(a[0], b[0], "the rows of a (axis 0) and b (axis 0)");
  return {{dtype, {checked_groups(c), a[1], b[1]}}};
}

GroupSizes group_sizes(const KernelRequest& request) {
  return {.input = kSizesInput, .dtype = request.inputs[kSizesInput].dtype};
}

GemmPointers grouped_pointers(const KernelRun& run) {
  return {run.inputs[0], run.inputs[1], run.outputs[0]};
}

Kernel grouped_matmul_kernel(const KernelRequest& request) {
  const OperandSpec &x = request.inputs[0], &w = request.inputs[1], &out = request.outputs[0];
  const bool transposed = request.attributes.flag("transpose_w");
  GemmBatch batch;
  batch.m = out.sizes[0], batch.n = out.sizes[1], batch.k = x.sizes[1];
  batch.count = w.sizes[0];
  batch.a = {x.dtype, batch.k};
  batch.b = {w.dtype, transposed ? 1 : batch.n, transposed ? batch.k : 1,
             BatchOffsets(w.sizes, {batch.count})};
  batch.c = {out.dtype, batch.n};
  batch.precision = request.precision;
  batch.batch_invariant = request.batch_invariant;
  if (w.constant) batch.constant_b = 1;
  Kernel kernel;
  kernel.check = group_check(request, kSizesInput, batch.m);
  add_grouped_gemm(kernel, std::move(batch), group_sizes(request), grouped_pointers);
  return kernel;
}

Kernel grouped_outer_kernel(const KernelRequest& request) {
  const OperandSpec &a = request.inputs[0], &b = request.inputs[1], &out = request.outputs[0];
  GemmBatch batch;
  batch.m = a.sizes[1], batch.n = b.sizes[1], batch.k = a.sizes[0];
  batch.count = out.sizes[0];
  batch.a = {a.dtype, 1, batch.m};
  batch.b = {b.dtype, batch.n};
  batch.c = {out.dtype, batch.n, 1, BatchOffsets(out.sizes, {batch.count})};
  batch.precision = request.precision;
  Kernel kernel;
  kernel.check = group_check(request, kSizesInput, batch.k);
  add_grouped_outer(kernel, std::move(batch), group_sizes(request), grouped_pointers);
  return kernel;
}

double bytes_of(const OperandSpec& spec) {
  return static_cast<double>(spec.numel()) * static_cast<double>(dtype_size(spec.dtype));
}

/// The cost if every row belongs to a group: 2 rows k m FLOPs, and one pass over the operands.
/// Matrices of empty groups are not read.
Cost grouped_matmul_cost(const KernelRequest& request) {
  const OperandSpec &x = request.inputs[0], &w = request.inputs[1], &out = request.outputs[0];
  const double groups = static_cast<double>(w.sizes[0]), rows = static_cast<double>(x.sizes[0]);
  return {.flops = 2.0 * static_cast<double>(out.numel()) * static_cast<double>(x.sizes[1]),
          .bytes = bytes_of(x) + bytes_of(out) + bytes_of(w) * read_share(rows, groups)};
}

Cost grouped_outer_cost(const KernelRequest& request) {
  const OperandSpec &a = request.inputs[0], &b = request.inputs[1];
  return {.flops = 2.0 * static_cast<double>(a.numel()) * static_cast<double>(b.sizes[1]),
          .bytes = bytes_of(a) + bytes_of(b) + bytes_of(request.outputs[0])};
}

}  // namespace

void GroupedMatmulOps::add(OpSet& ops) {
  OpRecord product;
  product.name = "grouped_matmul";
  product.doc =
      "Group e consists of the next sizes[e] rows of x [n, k]. out[i, :] = x[i, :] w[e] for the "
      "rows i of group e, with w [groups, k, m], or [groups, m, k] if transpose_w. Rows after the "
      "last group are 0. sizes is i32 or i64 [groups]; a negative size, or a sum of more than n, "
      "is a data error. dtypes and precision as for matmul.";
  product.inputs = {{"x"}, {"w"}, {"sizes"}};
  product.attributes = {{"transpose_w", false}, {"precision", std::string()}};
  product.infer = infer_grouped_matmul;
  product.kernel = grouped_matmul_kernel;
  product.cost = grouped_matmul_cost;
  ops.add(std::move(product));

  OpRecord outer;
  outer.name = "grouped_outer";
  outer.doc =
      "out[e] = sum over the rows i of group e of a[i, :]^T b[i, :], for a [n, k] and b [n, m], "
      "with groups as in grouped_matmul; 0 for empty groups. This is the gradient of w in "
      "grouped_matmul.";
  outer.inputs = {{"a"}, {"b"}, {"sizes"}};
  outer.attributes = {{"precision", std::string()}};
  outer.infer = infer_grouped_outer;
  outer.kernel = grouped_outer_kernel;
  outer.cost = grouped_outer_cost;
  ops.add(std::move(outer));
}

}  // namespace weft
