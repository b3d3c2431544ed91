#include "weft/ops/indexing/reduce_arg.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/ops/indexing/shape_kernel.h"
#include "weft/ops/kernels/reductions/cumsum.h"
#include "weft/ops/kernels/reductions/reduce.h"

namespace weft {
namespace {

/// The sizes of x viewed as [outer, length, inner] around the axis.
struct Lines {
  std::int64_t outer = 1, length = 1, inner = 1;
};
Lines lines_of(const OperandSpec& x, std::int64_t axis) {
  Lines lines;
  for (std::size_t i = 0; i < x.sizes.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    (at < axis ? lines.outer : at == axis ? lines.length : lines.inner) *= x.sizes[i];
  }
  return lines;
}

constexpr std::int64_t kArgColumns = 256;

/// Returns a phase that calls body(run, offset, column, width) for all blocks of columns. `offset`
/// is the offset of the first element, and `column` is the first column of the output.
template <class Body>
Phase column_phase(const Lines& lines, double ns_per_element, Body body) {
  const std::int64_t blocks = (lines.inner + kArgColumns - 1) / kArgColumns;
  const std::int64_t units = lines.outer * blocks;
  const std::int64_t unit = std::max<std::int64_t>(
      1, lines.length * std::min(kArgColumns, std::max<std::int64_t>(1, lines.inner)));
  Phase phase;
  phase.chunks = chunk_count(units, std::max<std::int64_t>(1, 16384 / unit));
  phase.cost_ns = ns_per_element * static_cast<double>(lines.outer) *
                  static_cast<double>(lines.length) * static_cast<double>(lines.inner);
  phase.body = [lines, blocks, units, body, chunks = phase.chunks](const KernelRun& run,
                                                                   std::int64_t chunk) {
    const auto [begin, end] = chunk_range(units, chunks, chunk);
    for (std::int64_t u = begin; u < end; ++u) {
      const std::int64_t o = u / blocks, column = u % blocks * kArgColumns;
      body(run, o * lines.length * lines.inner + column, o * lines.inner + column,
           std::min(kArgColumns, lines.inner - column));
    }
  };
  return phase;
}

std::vector<ValueType> infer_arg(const InferContext& c) {
  require_numeric(c);
  const int axis = checked_axis(c);
  if (c.shape(0)[axis] == Dim(0)) throw_empty_extreme(c.op(), axis);
  const bool keepdims = c.attributes().flag("keepdims");
  Shape shape;
  for (int i = 0; i < c.rank(0); ++i) {
    if (i != axis) {
      shape.push_back(c.shape(0)[i]);
    } else if (keepdims) {
      shape.push_back(1);
    }
  }
  return {{DType::i64, std::move(shape)}};
}

template <bool kLargest>
Kernel arg_kernel(const KernelRequest& r) {
  const std::int64_t axis = r.attributes.integer("axis");
  const OperandSpec& x = r.inputs[0];
  if (x.sizes[static_cast<std::size_t>(axis)] == 0) {
    throw_empty_extreme(kLargest ? "argmax" : "argmin", axis);
  }
  const Lines lines = lines_of(x, axis);
  Kernel kernel;
  kernel.phases.push_back(
      column_phase(lines, 1.0,
                   [lines, dtype = x.dtype](const KernelRun& run, std::int64_t from,
                                            std::int64_t to, std::int64_t width) {
                     kernels::arg_reduce_columns(
                         dtype, kLargest,
                         run.in<std::byte>(0) + static_cast<std::size_t>(from) * dtype_size(dtype),
                         lines.inner, lines.length, width, run.out<std::int64_t>(0) + to);
                   }));
  return kernel;
}

std::vector<ValueType> infer_cumsum(const InferContext& c) {
  require_numeric(c);
  checked_axis(c);
  return {c.input(0)};
}

Kernel cumsum_kernel(const KernelRequest& r) {
  const OperandSpec& x = r.inputs[0];
  const Lines lines = lines_of(x, r.attributes.integer("axis"));
  const bool exclusive = r.attributes.flag("exclusive"), reverse = r.attributes.flag("reverse");
  Kernel kernel;
  kernel.phases.push_back(column_phase(
      lines, 1.0,
      [lines, exclusive, reverse, dtype = x.dtype](const KernelRun& run, std::int64_t from,
                                                   std::int64_t, std::int64_t width) {
        const std::size_t offset = static_cast<std::size_t>(from) * dtype_size(dtype);
        kernels::cumsum_columns(dtype, run.in<std::byte>(0) + offset, lines.inner, lines.length,
                                width, exclusive, reverse, run.out<std::byte>(0) + offset);
      }));
  return kernel;
}

OpRecord arg_reduction(std::string name, std::string doc) {
  OpRecord record;
  record.name = std::move(name);
  record.doc = std::move(doc);
  record.inputs = {{"x"}};
  record.attributes = {{"axis", std::int64_t{0}, true}, {"keepdims", false}};
  record.infer = infer_arg;
  record.gradient = Gradient::none;
  record.no_gradient_reason = "its result is a position, which does not change continuously";
  return record;
}

}  // namespace

void require_numeric(const InferContext& c) {
  if (is_integer(c.dtype(0)) || c.dtype(0) == DType::f32 || c.dtype(0) == DType::f64) return;
  throw DTypeError(
      fmt::format("x must be f32, f64 or of an integer dtype, but is {}; convert it with cast()",
                  dtype_name(c.dtype(0))));
}

void add_arg_reduce_ops(OpSet& ops) {
  OpRecord argmax =
      arg_reduction("argmax",
                    "Position (i64) of the largest element along the axis, the first one in case "
                    "of ties; if there are NaNs, the position of the first NaN.");
  argmax.kernel = arg_kernel<true>;
  ops.add(std::move(argmax));

  OpRecord argmin =
      arg_reduction("argmin",
                    "Position (i64) of the smallest element along the axis, the first one in case "
                    "of ties; if there are NaNs, the position of the first NaN.");
  argmin.kernel = arg_kernel<false>;
  ops.add(std::move(argmin));

  OpRecord cumsum;
  cumsum.name = "cumsum";
  cumsum.doc =
      "Running sum along the axis: out[i] = x[0] + ... + x[i], excluding x[i] if exclusive, "
      "starting from the end if reverse. f32 is summed in double.";
  cumsum.inputs = {{"x"}};
  cumsum.attributes = {{"axis", std::int64_t{0}, true}, {"exclusive", false}, {"reverse", false}};
  cumsum.inplace = {{0, 0}};
  cumsum.infer = infer_cumsum;
  cumsum.kernel = cumsum_kernel;
  ops.add(std::move(cumsum));
}

}  // namespace weft
