// Linear recurrences along an axis, computed in one pass. Used for running products and their
// gradients.
#include <algorithm>

#include "weft/ops/builtin.h"
#include "weft/ops/indexing/index_kernel.h"
#include "weft/ops/indexing/shape_kernel.h"

namespace weft {
namespace {

constexpr std::int64_t kRecurrenceColumns = 256;

std::vector<ValueType> infer_recurrence(const InferContext& c) {
  c.require_floating(0, "a");
  c.require_same_dtype(0, 1);
  c.require_shape(1, c.shape(0), "b");
  checked_axis(c);
  return {c.input(0)};
}

// Computes columns [0, width) of rows that are `stride` elements apart. The state is kept in
// double, as in cumsum.
template <class T>
void run_columns(const T* a, const T* b, std::int64_t length, std::int64_t stride,
                 std::int64_t width, bool reverse, T* out) {
  double state[kRecurrenceColumns];
  std::fill_n(state, width, 0.0);
  for (std::int64_t step = 0; step < length; ++step) {
    const std::int64_t row = (reverse ? length - 1 - step : step) * stride;
    for (std::int64_t j = 0; j < width; ++j) {
      // The first element of a is not used, because there is no preceding output. It may be
      // infinite.
      const double carried = step == 0 ? 0.0 : static_cast<double>(a[row + j]) * state[j];
      state[j] = carried + static_cast<double>(b[row + j]);
    }
    // The stores are in a separate loop so that the code generated for the sums is the same whether
    // or not `out` aliases `a` or `b`. Otherwise, the operand order, and thus the NaN payloads,
    // could differ.
    for (std::int64_t j = 0; j < width; ++j) out[row + j] = static_cast<T>(state[j]);
  }
}

template <class T>
Kernel make_kernel(const KernelRequest& r) {
  const AxisLines lines = lines_around(r.inputs[0].sizes, r.attributes.integer("axis"));
  const std::int64_t blocks = (lines.inner + kRecurrenceColumns - 1) / kRecurrenceColumns;
  const std::int64_t units = lines.outer * blocks;
  const std::int64_t unit =
      std::max<std::int64_t>(1, lines.length * std::min(kRecurrenceColumns, lines.inner));
  Phase phase;
  phase.chunks = chunk_count(units, std::max<std::int64_t>(1, 16384 / unit));
  phase.cost_ns = 1.5 * static_cast<double>(r.inputs[0].numel());
  phase.body = [lines, blocks, units, reverse = r.attributes.flag("reverse"),
                chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(units, chunks, chunk);
    for (std::int64_t u = begin; u < end; ++u) {
      const std::int64_t column = u % blocks * kRecurrenceColumns;
      const std::int64_t at = u / blocks * lines.length * lines.inner + column;
      run_columns(run.in<T>(0) + at, run.in<T>(1) + at, lines.length, lines.inner,
                  std::min(kRecurrenceColumns, lines.inner - column), reverse, run.out<T>(0) + at);
    }
  };
  Kernel kernel;
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

Kernel recurrence_kernel(const KernelRequest& r) {
  return r.inputs[0].dtype == DType::f32 ? make_kernel<float>(r) : make_kernel<double>(r);
}

}  // namespace

void RecurrenceOps::add(OpSet& ops) {
  OpRecord r;
  r.name = "linear_recurrence";
  r.doc =
      "out[i] = a[i] * out[i - 1] + b[i] along the axis, with out[0] = b[0]; starts from the end "
      "if reverse. f32 is computed in double.";
  r.inputs = {{"a"}, {"b"}};
  r.attributes = {{"axis", std::int64_t{0}, true}, {"reverse", false}};
  r.inplace = {{0, 0}, {0, 1}};
  r.infer = infer_recurrence;
  r.kernel = recurrence_kernel;
  ops.add(std::move(r));
}

}  // namespace weft
