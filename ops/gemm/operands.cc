#include "weft/ops/gemm/operands.h"

#include <fmt/format.h>

namespace weft {
namespace {

Shape batch_axes(const Shape& shape) {
  return Shape(std::vector<Dim>(shape.begin(), shape.end() - 2));
}

}  // namespace

DType product_dtype(const InferContext& c, std::string_view a, std::string_view b) {
  const auto is_narrow = [](DType t) { return t == DType::bf16 || t == DType::f16; };
  for (const int i : {0, 1}) {
    if (!is_narrow(c.dtype(i)) && c.dtype(i) != DType::f32 && c.dtype(i) != DType::f64) {
      throw DTypeError(
          fmt::format("{} must be f32, f64, bf16 or f16, but is {}; convert it with "
                      "cast()",
                      i == 0 ? a : b, dtype_name(c.dtype(i))));
    }
  }
  if (is_narrow(c.dtype(0))) return is_narrow(c.dtype(1)) ? DType::f32 : c.dtype(1);
  if (!is_narrow(c.dtype(1))) c.require_same_dtype(0, 1);
  return c.dtype(0);
}

ValueType matmul_type(const InferContext& c) {
  const DType result = product_dtype(c, "a", "b");
  c.require_min_rank(0, 2, "a");
  c.require_min_rank(1, 2, "b");
  if (const std::string& own = c.attributes().text("precision"); !own.empty()) parse_precision(own);
  const bool ta = c.attributes().flag("transpose_a"), tb = c.attributes().flag("transpose_b");
  const Shape &a = c.shape(0), &b = c.shape(1);
  const int ra = a.rank(), rb = b.rank();
  const int axis_a = ta ? ra - 2 : ra - 1, axis_b = tb ? rb - 1 : rb - 2;
  c.require_equal(a[axis_a], b[axis_b],
                  fmt::format("the summed axes of a (axis {}) and b (axis {})", axis_a, axis_b));
  Shape out = c.broadcast(batch_axes(a), batch_axes(b));
  out.push_back(a[ta ? ra - 1 : ra - 2]);
  out.push_back(b[tb ? rb - 2 : rb - 1]);
  return {result, std::move(out)};
}

GemmBatch matmul_batch(const KernelRequest& request, const OperandSpec& c) {
  const Sizes &a = request.inputs[0].sizes, &b = request.inputs[1].sizes;
  const Sizes& out = c.sizes;
  const bool ta = request.attributes.flag("transpose_a");
  const bool tb = request.attributes.flag("transpose_b");
  GemmBatch batch;
  batch.m = out[out.size() - 2];
  batch.n = out[out.size() - 1];
  batch.k = a[ta ? a.size() - 2 : a.size() - 1];
  batch.a = {request.inputs[0].dtype, ta ? 1 : batch.k, ta ? batch.m : 1, {}};
  batch.b = {request.inputs[1].dtype, tb ? 1 : batch.n, tb ? batch.k : 1, {}};
  batch.c = {c.dtype, batch.n, 1, {}};
  batch.precision = request.precision;
  batch.batch_invariant = request.batch_invariant;
  if (request.inputs[1].constant) batch.constant_b = 1;

  const Sizes batch_c(out.begin(), out.end() - 2);
  const Sizes batch_b(b.begin(), b.end() - 2);
  const std::int64_t count = num_elements(batch_c);
  if (!ta && num_elements(batch_b) == 1) {
    // All matrices a are multiplied by the same matrix b, so compute a single tall product.
    batch.m *= count;
  } else if (count != 1) {
    batch.count = count;
    batch.a.offsets = BatchOffsets(a, batch_c);
    batch.b.offsets = BatchOffsets(b, batch_c);
    batch.c.offsets = BatchOffsets(out, batch_c);
  }
  return batch;
}

double matmul_flops(const KernelRequest& request, const OperandSpec& out) {
  const Sizes& a = request.inputs[0].sizes;
  const std::int64_t k = a[a.size() - (request.attributes.flag("transpose_a") ? 2 : 1)];
  return 2.0 * static_cast<double>(out.numel()) * static_cast<double>(k);
}

}  // namespace weft
