#include "weft/ops/reductions/reduce_kernel.h"

#include <algorithm>
#include <memory>

#include "weft/core/rounding.h"
#include "weft/ops/indexing/reduce_arg.h"

namespace weft {
namespace {

// The number of elements per chunk, which corresponds to about 10 us of work.
constexpr std::int64_t kGrain = 32768;
constexpr std::int64_t kReduceColumns = 64;
constexpr std::int64_t kMaxSplits = 256;

/// The input or output of a stage: an operand, or scratch starting at `offset`.
struct Place {
  bool scratch = false;
  std::size_t offset = 0;
};

/// A stage that reduces [outer, length, inner] to [outer, inner].
struct Stage {
  kernels::Reduction kind;
  DType dtype;
  std::int64_t outer, length, inner;
  double divisor;
  Place from, to;
  std::shared_ptr<const ElementSource> source = nullptr;
};

Place reserve(Kernel& kernel, std::int64_t elements, DType dtype) {
  const Place place{true, kernel.shared_scratch};
  const auto bytes = static_cast<std::size_t>(elements) * dtype_size(dtype);
  kernel.shared_scratch += aligned_size(bytes);
  return place;
}

/// Reduces `rows` rows of `length` elements to `out`. The source generates the elements, starting
/// with element `begin`.
void reduce_generated_rows(const Stage& stage, const KernelRun& run, std::int64_t begin,
                           std::int64_t rows, std::int64_t length, std::byte* out) {
  constexpr std::int64_t kBlock = kernels::kReduceBlock;
  std::byte* generated = run.slot_scratch + stage.source->scratch;
  const std::size_t size = dtype_size(stage.dtype);
  if (length <= kBlock) {
    const std::int64_t at_once =
        std::max<std::int64_t>(1, kBlock / std::max<std::int64_t>(length, 1));
    for (std::int64_t r = 0; r < rows; r += at_once) {
      const std::int64_t n = std::min(at_once, rows - r);
      if (length > 0) stage.source->make(run, begin + r * length, n * length, generated);
      kernels::reduce_rows(stage.kind, stage.dtype, generated, n, length, length, stage.divisor,
                           out + static_cast<std::size_t>(r) * size);
    }
    return;
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    kernels::BlockReduction reduction(stage.kind, stage.dtype);
    for (std::int64_t i = 0; i < length; i += kBlock) {
      const std::int64_t n = std::min(kBlock, length - i);
      stage.source->make(run, begin + r * length + i, n, generated);
      reduction.add(generated, n);
    }
    reduction.finish(stage.divisor, out + static_cast<std::size_t>(r) * size);
  }
}

/// Adds one phase that reduces [outer, length, inner] to [outer, splits, inner].
void add_phase(Kernel& kernel, const Stage& stage, std::int64_t splits) {
  const std::int64_t part = std::max<std::int64_t>(1, (stage.length + splits - 1) / splits);
  std::int64_t columns = std::max<std::int64_t>(stage.inner, 1);
  if (part * columns > 2 * kGrain) {
    columns = std::min(columns, std::max(kReduceColumns, round_up(kGrain / part, kReduceColumns)));
  }
  const std::int64_t blocks = (stage.inner + columns - 1) / columns;
  const std::int64_t units = stage.outer * splits * blocks;
  const std::int64_t unit_grain = std::max<std::int64_t>(1, kGrain / (part * columns));

  Phase phase;
  phase.chunks = chunk_count(units, unit_grain);
  const double elements = static_cast<double>(stage.outer) * static_cast<double>(stage.inner) *
                          static_cast<double>(stage.length);
  phase.cost_ns = elements * (stage.kind == kernels::Reduction::logsumexp ? 2.0 : 0.3);
  if (stage.source != nullptr) phase.cost_ns += elements * stage.source->ns_per_element;
  phase.body = [stage, splits, columns, blocks, units, chunks = phase.chunks](const KernelRun& run,
                                                                              std::int64_t chunk) {
    const auto [begin, end] = chunk_range(units, chunks, chunk);
    const std::size_t size = dtype_size(stage.dtype);
    const std::byte* from =
        stage.from.scratch ? run.shared_scratch + stage.from.offset : run.in<std::byte>(0);
    std::byte* to = stage.to.scratch ? run.shared_scratch + stage.to.offset : run.out<std::byte>(0);
    const auto at = [&](std::int64_t index) { return static_cast<std::size_t>(index) * size; };
    if (stage.inner == 1 && splits == 1) {
      if (begin == end) return;
      if (stage.source != nullptr) {
        reduce_generated_rows(stage, run, begin * stage.length, end - begin, stage.length,
                              to + at(begin));
        return;
      }
      kernels::reduce_rows(stage.kind, stage.dtype, from + at(begin * stage.length), end - begin,
                           stage.length, stage.length, stage.divisor, to + at(begin));
      return;
    }
    for (std::int64_t unit = begin; unit < end; ++unit) {
      const std::int64_t block = unit % blocks;
      const std::int64_t split = unit / blocks % splits;
      const std::int64_t o = unit / blocks / splits;
      const auto range = chunk_range(stage.length, splits, split);
      const std::int64_t column = block * columns;
      const std::int64_t width = std::min(columns, stage.inner - column);
      std::byte* out = to + at((o * splits + split) * stage.inner + column);
      const std::int64_t length = range.end - range.begin;
      if (stage.source != nullptr) {
        reduce_generated_rows(stage, run, o * stage.length + range.begin, 1, length, out);
        continue;
      }
      const std::byte* x = from + at((o * stage.length + range.begin) * stage.inner + column);
      if (stage.inner == 1) {
        kernels::reduce_rows(stage.kind, stage.dtype, x, 1, length, length, stage.divisor, out);
      } else {
        kernels::reduce_columns(stage.kind, stage.dtype, x, stage.inner, length, width,
                                stage.divisor, out);
      }
    }
  };
  kernel.phases.push_back(std::move(phase));
}

// In batch-invariant programs, the sum of a row is not split, because the number of parts depends
// on the number of rows.
void add_stage(Kernel& kernel, const Stage& stage, bool batch_invariant) {
  const std::int64_t total = stage.outer * stage.length * stage.inner;
  const std::int64_t units =
      std::max<std::int64_t>(1, stage.outer * (divide_up(stage.inner, kReduceColumns)));
  std::int64_t splits = 1;
  if (!batch_invariant && units < 32 && total > 4 * kGrain) {
    splits =
        std::min({(total / kGrain + units - 1) / units, stage.length / kReduceColumns, kMaxSplits});
    splits = std::max<std::int64_t>(splits, 1);
  }
  if (splits == 1) {
    add_phase(kernel, stage, 1);
    return;
  }
  Stage first = stage, second = stage;
  first.to = second.from = reserve(kernel, stage.outer * splits * stage.inner, stage.dtype);
  first.divisor = 1;
  second.length = splits;
  second.source = nullptr;
  add_phase(kernel, first, splits);
  add_phase(kernel, second, 1);
}

}  // namespace

Kernel make_reduce_kernel(const KernelRequest& request, kernels::Reduction kind,
                          const std::vector<std::int64_t>& axes, bool mean,
                          const ElementSource* source) {
  const OperandSpec& x = request.inputs[0];
  if (kind == kernels::Reduction::max || kind == kernels::Reduction::min) {
    for (const std::int64_t axis : axes) {
      if (x.sizes[static_cast<std::size_t>(axis)] != 0) continue;
      throw_empty_extreme(kind == kernels::Reduction::max ? "max" : "min", axis);
    }
  }
  struct Group {
    std::int64_t size;
    bool reduced;
  };
  std::vector<Group> groups;
  double count = 1;
  for (std::size_t axis = 0; axis < x.sizes.size(); ++axis) {
    const bool reduced =
        std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(axis));
    if (reduced) count *= static_cast<double>(x.sizes[axis]);
    if (x.sizes[axis] == 1) continue;
    if (!groups.empty() && groups.back().reduced == reduced) {
      groups.back().size *= x.sizes[axis];
    } else {
      groups.push_back({x.sizes[axis], reduced});
    }
  }
  if (count == 0) {  // all results are the identity: one stage, without intermediate results
    std::int64_t results = 1;
    for (const Group& g : groups) results *= g.reduced ? 1 : g.size;
    groups = {{results, false}, {0, true}};
  }
  auto stages_left =
      std::count_if(groups.begin(), groups.end(), [](const Group& g) { return g.reduced; });
  if (stages_left == 0) {  // nothing to reduce: treat each element as a row
    groups.push_back({1, true});
    stages_left = 1;
  }

  Kernel kernel;
  std::shared_ptr<const ElementSource> generated;
  if (source != nullptr) {
    generated = std::make_shared<const ElementSource>(*source);
    kernel.slot_scratch =
        source->scratch + static_cast<std::size_t>(kernels::kReduceBlock) * dtype_size(x.dtype);
  }
  Place from;
  std::int64_t inner = 1;
  for (std::size_t i = groups.size(); i-- > 0;) {
    if (!groups[i].reduced) {
      inner *= groups[i].size;
      continue;
    }
    std::int64_t outer = 1;
    for (std::size_t k = 0; k < i; ++k) outer *= groups[k].size;
    const bool last = --stages_left == 0;
    const Place to = last ? Place{} : reserve(kernel, outer * inner, x.dtype);
    add_stage(kernel,
              {kind, x.dtype, outer, groups[i].size, inner, mean && last ? count : 1.0, from, to,
               generated},
              request.batch_invariant);
    from = to;
    generated = nullptr;
  }
  return kernel;
}

}  // namespace weft
