// The kernel of attention: phases over blocks of queries, and over parts of the keys.
#include <algorithm>

#include "weft/ops/sequence/attention_problem.h"

namespace weft::attention_op {
namespace {

/// Adds the phases for a single query with many keys: the first computes parts of the keys, the
/// second combines the parts of every head.
template <class T>
void add_parts(Kernel& kernel, const Problem<T>& problem, bool want_out, bool want_lse) {
  const AttentionArgs<T>& a = problem.sizes();
  const std::int64_t parts = a.parts(), heads = heads_per_part(a), groups = a.H / heads;
  const std::size_t begin = (kernel.shared_scratch + 63) / 64 * 64;
  const std::int64_t row_values = a.H * parts * a.Dv, row_stats = a.H * parts * 2;
  kernel.shared_scratch =
      begin + sizeof(T) * static_cast<std::size_t>(a.B * (row_values + row_stats));
  const auto results = [=, batch = a.B](const KernelRun& run, std::int64_t b) {
    T* const first = reinterpret_cast<T*>(run.shared_scratch + begin);
    return AttentionParts<T>{.values = first + b * row_values,
                             .stats = first + batch * row_values + b * row_stats};
  };
  const std::int64_t units = a.B * groups * parts;
  Phase phase;
  phase.chunks = chunk_count(units, 1);
  phase.cost_ns = std::max(pairs_ns(a, 1), key_bytes_ns(a));
  phase.body = [=, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const AttentionArgs<T> args = problem.bind(run);
    const auto [first, last] = chunk_range(units, chunks, chunk);
    for (std::int64_t unit = first; unit < last; ++unit) {
      const std::int64_t group = unit / parts, b = group / groups;
      attention_part(args, b, group % groups * heads, unit % parts, results(run, b),
                     run.slot_scratch);
    }
  };
  kernel.phases.push_back(std::move(phase));

  Phase sums;
  const std::int64_t rows = a.B * a.H;
  sums.chunks = chunk_count(rows, std::max<std::int64_t>(1, 65536 / (parts * a.Dv + 1)));
  sums.cost_ns = static_cast<double>(rows * parts) * (30 + static_cast<double>(a.Dv) / 8);
  sums.body = [=, chunks = sums.chunks](const KernelRun& run, std::int64_t chunk) {
    const AttentionArgs<T> args = problem.bind(run);
    T* out = want_out ? run.out<T>(0) : reinterpret_cast<T*>(run.shared_scratch);
    const auto [first, last] = chunk_range(rows, chunks, chunk);
    for (std::int64_t row = first; row < last; ++row) {
      const std::int64_t b = row / args.H;
      attention_combine(args, b, row % args.H, results(run, b), out,
                        want_lse ? run.out<T>(1) : nullptr);
    }
  };
  kernel.phases.push_back(std::move(sums));
}

template <class T>
Kernel make_forward(const KernelRequest& request) {
  const Problem<T> problem(request, /*gradient=*/false);
  const AttentionArgs<T>& a = problem.sizes();
  const bool want_out = request.has_output(0), want_lse = request.has_output(1);
  const std::int64_t query_blocks = blocks(a.Lq, kQueryBlock), heads = heads_per_call(a);
  Kernel kernel;
  kernel.check = problem.check();
  kernel.slot_scratch = attention_scratch_bytes(a);
  // In the rare case that lse is requested without out, out is computed in scratch memory.
  if (!want_out)
    kernel.shared_scratch = sizeof(T) * static_cast<std::size_t>(a.B * a.H * a.Lq * a.Dv);
  if (a.parts() > 1) {
    add_parts(kernel, problem, want_out, want_lse);
    return kernel;
  }
  const std::int64_t units = a.B * a.H / heads * query_blocks;
  Phase phase;
  phase.chunks = chunk_count(units, 1);
  phase.cost_ns = std::max(pairs_ns(a, 1), key_bytes_ns(a));
  phase.body = [=, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const AttentionArgs<T> args = problem.bind(run);
    T* out = want_out ? run.out<T>(0) : reinterpret_cast<T*>(run.shared_scratch);
    const auto [begin, end] = chunk_range(units, chunks, chunk);
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t head = unit / query_blocks * heads;
      const std::int64_t i0 = unit % query_blocks * kQueryBlock;
      attention_forward(args, head / args.H, head % args.H, heads, i0,
                        std::min(args.Lq, i0 + kQueryBlock), out,
                        want_lse ? run.out<T>(1) : nullptr, run.slot_scratch);
    }
  };
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

}  // namespace

Kernel kernel(const KernelRequest& request) {
  return request.inputs[kQ].dtype == DType::f64 ? make_forward<double>(request)
                                                : make_forward<float>(request);
}

}  // namespace weft::attention_op
