// fake_quantize, which rounds activations to 8 bits, and quantize_rows, which returns the integers
// themselves. A pass uses quantize_rows for the operands of integer products.
#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/ops/builtin.h"
#include "weft/ops/kernels/quantized/quantize_rows.h"
#include "weft/ops/quantized/integer_matmul.h"

namespace weft {
namespace {

void check_operands(const InferContext& c) {
  c.require_min_rank(0, 1, "x");
  if (!c.has(1)) return;
  c.require_rank(1, 0, "scale");
  c.require_same_dtype(0, 1);
}

std::vector<ValueType> infer_fake_quantize(const InferContext& c) {
  c.require_floating(0, "x");
  check_operands(c);
  return {c.input(0)};
}

std::vector<ValueType> infer_quantize_rows(const InferContext& c) {
  c.require_dtype(0, DType::f32, "x");
  check_operands(c);
  const Shape& shape = c.shape(0);
  return {{DType::i8, shape},
          {DType::f32, Shape(std::vector<Dim>(shape.begin(), shape.end() - 1))}};
}

struct Rows {
  std::int64_t count = 1, length = 0;
};
Rows rows_of(const OperandSpec& x) {
  Rows rows{1, x.sizes.back()};
  for (std::size_t i = 0; i + 1 < x.sizes.size(); ++i) rows.count *= x.sizes[i];
  return rows;
}

// Returns a kernel that calls body(run, first row, number of rows) for all rows.
template <class Body>
Kernel row_kernel(const KernelRequest& r, const Body& body) {
  const Rows rows = rows_of(r.inputs[0]);
  Phase phase;
  phase.chunks = chunk_count(
      rows.count, std::max<std::int64_t>(1, (1 << 14) / std::max<std::int64_t>(1, rows.length)));
  phase.cost_ns = 0.2 * static_cast<double>(rows.count) * static_cast<double>(rows.length);
  phase.body = [=, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(rows.count, chunks, chunk);
    body(run, begin, end - begin);
  };
  Kernel kernel;
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

template <class T>
Kernel fake_quantize_kernel_of(const KernelRequest& r) {
  const std::int64_t n = r.inputs[0].sizes.back();
  return row_kernel(r, [n, is_static = r.has_input(1)](const KernelRun& run, std::int64_t first,
                                                       std::int64_t rows) {
    kernels::fake_quantize_rows(run.in<T>(0) + first * n, rows, n,
                                is_static ? run.in<T>(1) : nullptr, run.out<T>(0) + first * n);
  });
}
Kernel fake_quantize_kernel(const KernelRequest& r) {
  return r.inputs[0].dtype == DType::f32 ? fake_quantize_kernel_of<float>(r)
                                         : fake_quantize_kernel_of<double>(r);
}

/// Returns the address of an element of an output, or null if the output has no reader.
template <class T>
T* from(T* output, std::int64_t element) {
  return output == nullptr ? nullptr : output + element;
}

Kernel quantize_rows_kernel(const KernelRequest& r) {
  const std::int64_t n = r.inputs[0].sizes.back();
  Kernel kernel = row_kernel(r, [n, is_static = r.has_input(1)](
                                    const KernelRun& run, std::int64_t first, std::int64_t rows) {
    kernels::quantize_rows(
        run.in<float>(0) + first * n, rows, n, is_static ? run.in<float>(1) : nullptr,
        from(run.out<std::int8_t>(0), first * n), from(run.out<float>(1), first));
  });
  return kernel;
}

Cost row_cost(const KernelRequest& r) {
  const double n = static_cast<double>(r.inputs[0].numel());
  double bytes = n * static_cast<double>(dtype_size(r.inputs[0].dtype));
  for (const OperandSpec& out : r.outputs)
    bytes += static_cast<double>(out.numel()) * static_cast<double>(dtype_size(out.dtype));
  return {.flops = 4 * n, .bytes = bytes};
}

}  // namespace

void IntegerOps::add(OpSet& ops) {
  {
    OpRecord r;
    r.name = "fake_quantize";
    r.doc =
        "Rounds each row of x (the last axis) to integers from -127 to 127 times a step: step * "
        "clamp(round(x / step)), where step is `scale` or, without scale, max |x| / 127 of the "
        "row. A row with NaN, or without scale with an infinity, becomes NaN, as does every row if "
        "the scale is not in [2^-100, 2^100]. Without scale, rows below 2^-100 become 0. The "
        "gradient is that of the identity within the range.";
    r.inputs = {{"x"}, {"scale", Arity::optional}};
    r.inplace = {{0, 0}};
    r.infer = infer_fake_quantize;
    r.kernel = fake_quantize_kernel;
    r.cost = row_cost;
    ops.add(std::move(r));
  }
  {
    OpRecord r;
    r.name = "quantize_rows";
    r.doc =
        "fake_quantize(x, scale) as integers (i8, with the shape of x) and one step per row (f32, "
        "without the last axis); each element is the product of its integer and the step of its "
        "row. For a row that becomes NaN, the step is NaN and the integers are 0.";
    r.inputs = {{"x"}, {"scale", Arity::optional}};
    r.outputs = {"levels", "step"};
    r.infer = infer_quantize_rows;
    r.kernel = quantize_rows_kernel;
    r.cost = row_cost;
    r.gradient = Gradient::none;
    r.no_gradient_reason = "created by a pass; fake_quantize is differentiable";
    ops.add(std::move(r));
  }
  add_integer_matmul(ops);
}

}  // namespace weft
