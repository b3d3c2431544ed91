#include "weft/ops/gemm/parallel.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "weft/core/error.h"
#include "weft/ops/gemm/detail.h"
#include "weft/ops/gemm/tiling.h"
#include "weft/ops/kernels/gemm/engine.h"

namespace weft {
namespace products {
namespace {

// Rough speeds of one core, for Phase::cost_ns.
constexpr double kMultiplyAddsPerNs = 40;
constexpr double kPackedElementsPerNs = 4;
// Work that a chunk has at least, about 10 us.
constexpr double kMultiplyAddsPerChunk = 5e5;
constexpr std::int64_t kPackedElementsPerChunk = 1 << 16;
// A product with so many multiply-adds feeds all workers by itself.
constexpr double kLargeProduct = 1.3e8;
// Phases are a list: with more stages than so many (operands of some 100 GiB), tiles pack their own
// operands, in one phase for all.
constexpr double kMostStages = 1 << 13;

// The ranges that one packing phase and the tiles after it work on.
struct Stage {
  Range rows, columns, depth;
};

// -- Packing for all -----------------------------------------------------------------------------

void add_packing(Kernel& kernel, const ProductRef& p, const Stage& stage, std::int64_t product,
                 bool pack_a, bool pack_b) {
  const GemmEngine& e = *p->engine;
  // A chunk packs a few neighbouring panels over the whole depth of the range.
  const auto chunks_of = [&](bool packed, std::int64_t extent) {
    return packed ? chunk_count(extent * stage.depth.size(), kPackedElementsPerChunk) : 0;
  };
  const std::int64_t a_chunks =
      std::min(chunks_of(pack_a, stage.rows.size()), p->row_panels(stage.rows.size()));
  const std::int64_t b_chunks =
      std::min(chunks_of(pack_b, stage.columns.size()), p->column_panels(stage.columns.size()));
  Phase phase;
  phase.chunks = a_chunks + b_chunks;
  phase.cost_ns =
      static_cast<double>((pack_a ? stage.rows.size() : 0) + (pack_b ? stage.columns.size() : 0)) *
      static_cast<double>(stage.depth.size()) / kPackedElementsPerNs;
  phase.body = [p, &e, stage, product, a_chunks, b_chunks](const KernelRun& run,
                                                           std::int64_t chunk) {
    const ProductPointers at = p->pointers(run);
    std::byte* const shared = run.shared_scratch + p->shared_begin;
    const bool is_a = chunk < a_chunks;
    const std::int64_t panel = is_a ? e.row_panel : e.column_panel;
    const Range extent = is_a ? stage.rows : stage.columns;
    const std::int64_t panels = divide_up(extent.size(), panel);
    const auto [begin, end] = is_a ? chunk_range(panels, a_chunks, chunk)
                                   : chunk_range(panels, b_chunks, chunk - a_chunks);
    const std::int64_t first = extent.begin + begin * panel;
    const std::int64_t count = std::min(extent.begin + end * panel, extent.end) - first;
    for (std::int64_t block = 0; block * e.depth_block < stage.depth.size(); ++block) {
      const Range depth = piece(stage.depth, e.depth_block, block);
      if (is_a) {
        e.pack_a(p->source(p->shape.a, at.a, product).from(first, depth.begin), count, depth.size(),
                 shared + p->a_panel(panels, block, begin, depth.size()));
      } else {
        e.pack_b(p->source(p->shape.b, at.b, product).from(depth.begin, first), depth.size(), count,
                 shared + p->shared_b + p->b_panel(panels, block, begin, depth.size()));
      }
    }
  };
  kernel.phases.push_back(std::move(phase));
}

// The whole of B in panels, for every run: blocks of the depth one after the other.
PackedInput packed_b(const ProductRef& p, std::size_t input) {
  const GemmEngine& e = *p->engine;
  const ProductShape& s = p->shape;
  const std::int64_t panels = p->column_panels(s.n);
  PackedInput packed;
  packed.input = input;
  // Engines of one name compute in f32 and in f64, and their panels are as wide as vectors are.
  packed.layout =
      fmt::format("B of {} {} {}x{} [{}, {}] {} {}", e.name, dtype_name(e.result), e.depth_block,
                  e.column_panel, s.k, s.n, s.b.row_stride, s.b.column_stride);
  packed.bytes =
      p->b_panel(panels, (s.k - 1) / e.depth_block, panels, (s.k - 1) % e.depth_block + 1);
  packed.chunks = std::min(chunk_count(s.n * s.k, kPackedElementsPerChunk), panels);
  packed.pack = [p, &e, panels, chunks = packed.chunks](const void* from, std::byte* to,
                                                        std::int64_t chunk) {
    const auto [begin, end] = chunk_range(panels, chunks, chunk);
    const Range columns{begin * e.column_panel, std::min(end * e.column_panel, p->shape.n)};
    const Range whole{0, p->shape.k};
    for (std::int64_t block = 0; block * e.depth_block < p->shape.k; ++block) {
      const Range depth = piece(whole, e.depth_block, block);
      e.pack_b(p->source(p->shape.b, from, 0).from(depth.begin, columns.begin), depth.size(),
               columns.size(), to + p->b_panel(panels, block, begin, depth.size()));
    }
  };
  return packed;
}

// -- Tiles ---------------------------------------------------------------------------------------

// One tile of C over the depth of the stage. With per-tile packing of both operands, blocks of
// columns are packed once and blocks of rows once per block of columns.
void multiply_tile(const Product& p, const KernelRun& run, const ProductPointers& at,
                   std::int64_t product, const Stage& stage, const Range& rows,
                   const Range& columns, const Range& depth_part, std::byte* c,
                   std::int64_t c_stride, bool accumulate) {
  const GemmEngine& e = *p.engine;
  const std::byte* const shared = run.shared_scratch + p.shared_begin;
  std::byte* const own = run.slot_scratch + p.slot_begin;
  const MatrixSource a = p.source(p.shape.a, at.a, product);
  const MatrixSource b = p.source(p.shape.b, at.b, product);
  const std::int64_t element = static_cast<std::int64_t>(dtype_size(p.shape.c.dtype));
  // A block of A that stays in the L2 cache while the panels of B pass.
  const std::int64_t row_block = divide_up(192, e.row_panel) * e.row_panel;
  for (std::int64_t block = (depth_part.begin - stage.depth.begin) / e.depth_block;
       stage.depth.begin + block * e.depth_block < depth_part.end; ++block) {
    const Range depth = piece(stage.depth, e.depth_block, block);
    const bool add = accumulate || depth.begin > depth_part.begin;
    kernels::PackedBlock packed_b{own + p.slot_b, b.from(depth.begin, columns.begin)};
    if (p.plan.b == Packing::kept) {
      packed_b.panels =
          run.packed + p.b_panel(p.column_panels(p.plan.n), depth.begin / e.depth_block,
                                 columns.begin / e.column_panel, depth.size());
    } else if (p.plan.b == Packing::shared) {
      packed_b.panels =
          shared + p.shared_b +
          p.b_panel(p.column_panels(stage.columns.size()), block,
                    (columns.begin - stage.columns.begin) / e.column_panel, depth.size());
    } else {
      e.pack_b(packed_b.source, depth.size(), columns.size(), own + p.slot_b);
    }
    for (std::int64_t row = rows.begin; row < rows.end; row += row_block) {
      const std::int64_t height = std::min(row_block, rows.end - row);
      kernels::PackedBlock packed_a{own + p.slot_a, a.from(row, depth.begin)};
      if (p.plan.a == Packing::shared) {
        packed_a.panels = shared + p.a_panel(p.row_panels(stage.rows.size()), block,
                                             (row - stage.rows.begin) / e.row_panel, depth.size());
      } else {
        e.pack_a(packed_a.source, height, depth.size(), own + p.slot_a);
      }
      e.multiply(packed_a, packed_b, height, columns.size(), depth.size(),
                 c + (row - rows.begin) * c_stride * element, c_stride, add, own);
    }
  }
}

void add_tiles(Kernel& kernel, const ProductRef& p, const Stage& stage, std::int64_t first_product,
               std::int64_t products) {
  const std::int64_t row_tiles = divide_up(stage.rows.size(), p->plan.tile_rows);
  const std::int64_t column_tiles = divide_up(stage.columns.size(), p->plan.tile_columns);
  const std::int64_t tiles = products * row_tiles * column_tiles;
  const double work = static_cast<double>(products) * static_cast<double>(stage.rows.size()) *
                      static_cast<double>(stage.columns.size()) *
                      static_cast<double>(stage.depth.size());
  Phase phase;
  phase.chunks = chunk_count(
      tiles,
      static_cast<std::int64_t>(kMultiplyAddsPerChunk / (work / static_cast<double>(tiles) + 1)));
  phase.cost_ns = work / kMultiplyAddsPerNs;
  phase.body = [p, stage, first_product, row_tiles, column_tiles, tiles, chunks = phase.chunks](
                   const KernelRun& run, std::int64_t chunk) {
    const ProductPointers at = p->pointers(run);
    const auto [begin, end] = chunk_range(tiles, chunks, chunk);
    for (std::int64_t tile = begin; tile < end; ++tile) {
      const std::int64_t product = first_product + tile / (row_tiles * column_tiles);
      const Range rows = piece(stage.rows, p->plan.tile_rows, tile / column_tiles % row_tiles);
      const Range columns = piece(stage.columns, p->plan.tile_columns, tile % column_tiles);
      multiply_tile(*p, run, at, product, stage, rows, columns, stage.depth,
                    p->c_at(at.c, product, rows.begin, columns.begin), p->shape.c.row_stride,
                    p->shape.accumulate || stage.depth.begin > 0);
      if (stage.depth.end == p->plan.k) p->finished(run, product, rows, columns, at.c);
    }
  };
  kernel.phases.push_back(std::move(phase));
}

// -- A depth that is summed in parts -------------------------------------------------------------

template <class T>
void sum_parts(const Product& p, const KernelRun& run, void* c_data, std::int64_t product,
               const Range& rows, const Range& columns) {
  const std::int64_t n = p.plan.n, part = p.plan.m * n, count = columns.size();
  const T* partial = reinterpret_cast<const T*>(run.shared_scratch + p.shared_begin);
  for (std::int64_t row = rows.begin; row < rows.end; ++row) {
    T* c = reinterpret_cast<T*>(p.c_at(c_data, product, row, columns.begin));
    const T* values = partial + row * n + columns.begin;
    std::int64_t first = 0;
    if (!p.shape.accumulate) std::copy_n(values, count, c), first = 1;
    for (std::int64_t i = first; i < p.plan.depth_parts; ++i) {
      for (std::int64_t j = 0; j < count; ++j) c[j] += values[i * part + j];
    }
  }
}

}  // namespace

// Pieces of rows, or of columns where rows are few.
void add_sum_of_parts(Kernel& kernel, const ProductRef& p, std::int64_t product) {
  const ProductPlan& plan = p->plan;
  const bool by_rows = plan.m > plan.n;
  const std::int64_t extent = by_rows ? plan.m : plan.n;
  Phase sum;
  sum.chunks =
      std::min(extent, chunk_count(plan.m * plan.n * plan.depth_parts, kPackedElementsPerChunk));
  sum.cost_ns = static_cast<double>(plan.m * plan.n * plan.depth_parts) / kPackedElementsPerNs;
  sum.body = [p, product, by_rows, extent, chunks = sum.chunks](const KernelRun& run,
                                                                std::int64_t chunk) {
    const auto [begin, end] = chunk_range(extent, chunks, chunk);
    const Range rows = by_rows ? Range{begin, end} : Range{0, p->plan.m};
    const Range columns = by_rows ? Range{0, p->plan.n} : Range{begin, end};
    void* const c = p->pointers(run).c;
    if (p->shape.c.dtype == DType::f64) {
      sum_parts<double>(*p, run, c, product, rows, columns);
    } else {
      sum_parts<float>(*p, run, c, product, rows, columns);
    }
    p->finished(run, product, rows, columns, c);
  };
  kernel.phases.push_back(std::move(sum));
}

namespace {

void add_depth_parts(Kernel& kernel, const ProductRef& p, std::int64_t product) {
  const ProductPlan& plan = p->plan;
  const Stage stage{{0, plan.m}, {0, plan.n}, {0, plan.k}};
  const std::int64_t row_tiles = divide_up(plan.m, plan.tile_rows);
  const std::int64_t column_tiles = divide_up(plan.n, plan.tile_columns);
  const double work =
      static_cast<double>(plan.m) * static_cast<double>(plan.n) * static_cast<double>(plan.k);
  Phase tiles;
  tiles.chunks = row_tiles * column_tiles * plan.depth_parts;
  tiles.cost_ns = work / kMultiplyAddsPerNs;
  tiles.body = [p, stage, product, row_tiles, column_tiles](const KernelRun& run,
                                                            std::int64_t chunk) {
    const ProductPlan& plan = p->plan;
    const std::int64_t part = chunk / (row_tiles * column_tiles);
    const Range rows = piece(stage.rows, plan.tile_rows, chunk / column_tiles % row_tiles);
    const Range columns = piece(stage.columns, plan.tile_columns, chunk % column_tiles);
    const auto [begin, end] = chunk_range(plan.k, plan.depth_parts, part, p->engine->depth_block);
    std::byte* const partial = run.shared_scratch + p->shared_begin;
    const std::int64_t offset = (part * plan.m + rows.begin) * plan.n + columns.begin;
    multiply_tile(*p, run, p->pointers(run), product, stage, rows, columns, {begin, end},
                  partial + offset * static_cast<std::int64_t>(dtype_size(p->shape.c.dtype)),
                  plan.n, false);
  };
  kernel.phases.push_back(std::move(tiles));

  add_sum_of_parts(kernel, p, product);
}

// -- No sums at all ------------------------------------------------------------------------------

void add_empty(Kernel& kernel, const ProductRef& p) {
  const std::int64_t rows = p->shape.products * p->shape.m;
  Phase phase;
  phase.chunks = std::min(std::max<std::int64_t>(rows, 1),
                          chunk_count(rows * p->shape.n, kPackedElementsPerChunk));
  phase.cost_ns = static_cast<double>(rows * p->shape.n) / kPackedElementsPerNs;
  phase.body = [p, rows, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    if (p->shape.n == 0) return;
    const auto [begin, end] = chunk_range(rows, chunks, chunk);
    void* const c = p->pointers(run).c;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t product = i / p->shape.m, row = i % p->shape.m;
      std::byte* const first = p->c_at(c, product, row, 0);
      if (!p->shape.accumulate) {
        std::fill_n(first, times(p->shape.n, dtype_size(p->shape.c.dtype)), std::byte{0});
      }
      p->finished(run, product, {row, row + 1}, {0, p->shape.n}, c);
    }
  };
  kernel.phases.push_back(std::move(phase));
}

void check(const ProductShape& s) {
  const DType result = s.c.dtype;
  const auto fits = [&](DType t) { return t == result || t == DType::bf16 || t == DType::f16; };
  if ((result != DType::f32 && result != DType::f64) || !fits(s.a.dtype) || !fits(s.b.dtype)) {
    throw DTypeError(
        fmt::format("a product of {} and {} cannot be {}; it is f32 or f64, and its operands have "
                    "the same dtype or are bf16 or f16",
                    dtype_name(s.a.dtype), dtype_name(s.b.dtype), dtype_name(result)));
  }
}

}  // namespace
}  // namespace products

using namespace products;  // NOLINT(build/namespaces)

ProductPhases::ProductPhases(Kernel& kernel)
    : kernel_(kernel),
      shared_begin_(round_up_64(kernel.shared_scratch)),
      slot_begin_(round_up_64(kernel.slot_scratch)) {}

void ProductPhases::add(ProductShape shape, Pointers pointers, Finish finish) {
  check(shape);
  auto p = std::make_shared<Product>();
  p->shape = std::move(shape);
  p->pointers = std::move(pointers);
  p->finish = std::move(finish);
  p->shared_begin = shared_begin_;
  p->slot_begin = slot_begin_;
  const ProductShape& s = p->shape;
  const auto reserve = [&](std::size_t shared, std::size_t slot) {
    kernel_.shared_scratch = std::max(kernel_.shared_scratch, shared_begin_ + shared);
    kernel_.slot_scratch = std::max(kernel_.slot_scratch, slot_begin_ + slot);
  };
  if (s.products == 0 || s.m == 0 || s.n == 0 || s.k == 0) return add_empty(kernel_, p);
  if (add_few_rows_product(kernel_, p, reserve)) return;

  const double work =
      static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  bool many = s.products > 1 && work < kLargeProduct;
  p->engine = &kernels::choose_engine(s.c.dtype, s.a.dtype, s.b.dtype, s.precision, s.m, s.n, s.k);
  p->plan = plan_product(s.m, s.n, s.k, many, *p->engine);
  if (!many && static_cast<double>(s.products) * static_cast<double>(p->plan.row_ranges()) *
                       static_cast<double>(p->plan.column_ranges()) *
                       static_cast<double>(p->plan.depth_ranges()) >
                   kMostStages) {
    many = true;
    p->plan = plan_product(s.m, s.n, s.k, many, *p->engine);
  }
  if (s.kept_b && s.products == 1 && !kernel_.packed) {
    p->plan.b = Packing::kept;
    kernel_.packed = packed_b(p, *s.kept_b);
  }
  const ProductPlan& plan = p->plan;
  const GemmEngine& e = *p->engine;
  const std::int64_t blocks = divide_up(plan.range_depth, e.depth_block);
  const std::int64_t depth = std::min(s.k, e.depth_block);
  const auto bytes = [](bool wanted, std::int64_t panels, std::size_t each) {
    return wanted ? round_up_64(times(panels, each)) : 0;
  };
  const bool share_a = plan.a == Packing::shared, share_b = plan.b == Packing::shared;
  const std::size_t a_panel = e.a_panel_bytes(depth), b_panel = e.b_panel_bytes(depth);
  p->shared_b = bytes(share_a, p->row_panels(plan.range_rows) * blocks, a_panel);
  p->slot_a = round_up_64(e.multiply_scratch);
  p->slot_b = p->slot_a + bytes(!share_a, p->row_panels(plan.tile_rows), a_panel);
  std::size_t shared =
      p->shared_b + bytes(share_b, p->column_panels(plan.range_columns) * blocks, b_panel);
  if (plan.depth_parts > 1) {
    shared = times(plan.depth_parts * s.m * s.n, dtype_size(s.c.dtype));
  }
  reserve(shared, p->slot_b + bytes(plan.b == Packing::per_tile,
                                    p->column_panels(plan.tile_columns), b_panel));

  if (many) {
    add_tiles(kernel_, p, {{0, s.m}, {0, s.n}, {0, s.k}}, 0, s.products);
    return;
  }
  for (std::int64_t product = 0; product < s.products; ++product) {
    if (plan.depth_parts > 1) {
      add_depth_parts(kernel_, p, product);
      continue;
    }
    const Stage whole{{0, s.m}, {0, s.n}, {0, s.k}};
    for (std::int64_t i = 0; i < plan.row_ranges(); ++i) {
      for (std::int64_t j = 0; j < plan.column_ranges(); ++j) {
        for (std::int64_t q = 0; q < plan.depth_ranges(); ++q) {
          const Stage stage{piece(whole.rows, plan.range_rows, i),
                            piece(whole.columns, plan.range_columns, j),
                            piece(whole.depth, plan.range_depth, q)};
          if (share_a || share_b) {
            // What the stage before has packed and this one needs as well stays.
            const bool same_depth = plan.depth_ranges() == 1;
            const bool pack_a = share_a && !(same_depth && j > 0);
            const bool pack_b = share_b && !(same_depth && plan.column_ranges() == 1 && i > 0);
            if (pack_a || pack_b) add_packing(kernel_, p, stage, product, pack_a, pack_b);
          }
          add_tiles(kernel_, p, stage, product, 1);
        }
      }
    }
  }
}

}  // namespace weft
