// quantized_matmul, which passes substitute for a product with a dequantised matrix, and
// quantized_matmul_fused, which adds an elementwise epilogue. The gradient of such a product with
// respect to x is a product with the transposed matrix.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "weft/core/error.h"
#include "weft/core/rounding.h"
#include "weft/ops/builtin.h"
#include "weft/ops/fusion/epilogue.h"
#include "weft/ops/gemm/parallel.h"
#include "weft/ops/kernels/gemm_engine.h"
#include "weft/ops/operands.h"
#include "weft/ops/quantized/quantized_blocks.h"

namespace weft {
namespace {

// The number of bytes of weights per chunk, which is enough for a few microseconds of memory reads.
constexpr std::int64_t kChunkBytes = std::int64_t{1} << 16;

ValueType infer_product_type(const InferContext& c) {
  if (const std::string& own = c.attributes().text("precision"); !own.empty()) parse_precision(own);
  c.require_floating(0, "x");
  c.require_min_rank(0, 1, "x");
  const std::int64_t columns = c.attributes().integer("outputs");
  Shape shape = c.shape(0);
  const Dim last = shape[c.rank(0) - 1];
  if (!last.is_constant()) {
    throw ShapeError(
        fmt::format("the last axis of x must have a fixed size, but is {}", last.str()));
  }
  const bool transpose = c.attributes().flag("transpose");
  check_quantized(c, 1, 2, transpose ? columns : last.constant(),
                  transpose ? last.constant() : columns, c.dtype(0));
  std::vector<Dim> out(shape.begin(), shape.end() - 1);
  out.emplace_back(columns);
  return {c.dtype(0), Shape(std::move(out))};
}

// A product of all rows with W or its transpose. It is not yet bound to memory.
struct QuantizedProduct {
  QuantizedOperands w = {};
  bool transpose = false;
  bool batch_invariant = false;
  std::int64_t rows = 0;
  std::function<void*(const KernelRun&)> result;  // [rows, columns()]
  /// Called for every part of the result once the part is final; may be empty.
  TileEpilogue epilogue = {};

  std::int64_t columns() const { return transpose ? w.inputs : w.outputs; }
  std::int64_t depth() const { return transpose ? w.outputs : w.inputs; }
  template <class T>
  T* out(const KernelRun& run) const {
    return static_cast<T*>(result(run));
  }
  /// Runs the epilogue on columns [begin, end) of all rows. These elements must be final.
  template <class T>
  void run_epilogue(const KernelRun& run, T* out, std::int64_t begin, std::int64_t end) const {
    run_epilogue(run, out, begin, end, {0, rows});
  }
  template <class T>
  void run_epilogue(const KernelRun& run, T* out, std::int64_t begin, std::int64_t end,
                    ChunkRange row) const {
    if (epilogue == nullptr || row.begin >= row.end || begin >= end) return;
    epilogue(run, {.row = row.begin,
                   .column = begin,
                   .rows = row.end - row.begin,
                   .columns = end - begin,
                   .c = out + row.begin * columns() + begin,
                   .c_stride = columns()});
  }
};
using ProductRef = std::shared_ptr<const QuantizedProduct>;

// The rows that are converted together to the layout that products read. A block stays in the L2
// cache while it is multiplied by some panels.
struct RowBlocks {
  std::int64_t rows = 0;    // per block
  std::size_t bytes = 0;    // per block
  std::size_t scratch = 0;  // offset of the first block in the shared scratch
};

// Adds the phases of a product of some rows that reads the quantised weights directly.
void add_rows(Kernel& kernel, const ProductRef& p, const RowBlocks& block, ChunkRange all) {
  const QuantizedOperands& w = p->w;
  const std::int64_t count = all.end - all.begin, blocks = divide_up(count, block.rows);
  // Calls body(rows, x of these rows, converted rows).
  const auto with_block = [=](const KernelRun& run, std::int64_t index, const auto& body) {
    const std::int64_t first = all.begin + index * block.rows;
    body(ChunkRange{first, std::min(first + block.rows, all.end)},
         run.in<float>(0) + first * p->w.inputs,
         run.shared_scratch + block.scratch + static_cast<std::size_t>(index) * block.bytes);
  };
  Phase prepare;
  prepare.chunks = blocks;
  prepare.cost_ns = 0.3 * static_cast<double>(count) * static_cast<double>(w.inputs);
  prepare.body = [=](const KernelRun& run, std::int64_t index) {
    with_block(run, index, [&](ChunkRange row, const float* x, std::byte* prepared) {
      kernels::prepare_rows(p->w.at(run), x, row.end - row.begin, prepared);
    });
  };
  kernel.phases.push_back(std::move(prepare));

  const std::int64_t parts = std::clamp<std::int64_t>(
      chunk_count(w.panels() * w.panel_bytes(), kChunkBytes), 1, w.panels());
  Phase product;
  product.chunks = parts * blocks;
  product.cost_ns = static_cast<double>(w.panels() * w.panel_bytes()) / kQuantizedBytesPerNs *
                    (0.5 + 0.5 * static_cast<double>(count));
  product.body = [=](const KernelRun& run, std::int64_t chunk) {
    const auto panel = chunk_range(p->w.panels(), parts, chunk / blocks);
    with_block(run, chunk % blocks, [&](ChunkRange row, const float* x, std::byte* prepared) {
      auto* const out = p->out<float>(run);
      kernels::quantized_product(p->w.at(run), x, prepared, row.end - row.begin, panel.begin,
                                 panel.end, out + row.begin * p->w.outputs, p->batch_invariant);
      p->run_epilogue(run, out, panel.begin * kQuantizedPanel,
                      std::min(panel.end * kQuantizedPanel, p->w.outputs), row);
    });
  };
  kernel.phases.push_back(std::move(product));
}

// Adds the phases of a product that reads the quantised weights directly. At most kBlocks blocks of
// rows are converted at a time, so that they need little memory, unless there would be more than
// kMostTimes times.
void add_direct(Kernel& kernel, const ProductRef& p) {
  constexpr std::int64_t kBlockElements = 1 << 16, kLeastRows = 16, kMostRows = 64;
  constexpr std::int64_t kBlocks = 8, kMostTimes = 64;
  RowBlocks block;
  block.rows = std::min(p->rows, std::clamp(kBlockElements / p->w.inputs, kLeastRows, kMostRows));
  block.bytes = kernels::prepared_rows_bytes(p->w.inputs, block.rows);
  block.scratch = aligned_size(kernel.shared_scratch);
  const std::int64_t blocks = divide_up(p->rows, block.rows);
  const std::int64_t at_once = std::min(blocks, std::max(kBlocks, divide_up(blocks, kMostTimes)));
  const std::int64_t rows_at_once = at_once * block.rows;
  kernel.shared_scratch = block.scratch + static_cast<std::size_t>(at_once) * block.bytes;
  for (std::int64_t first = 0; first < p->rows; first += rows_at_once)
    add_rows(kernel, p, block, {first, std::min(first + rows_at_once, p->rows)});
}

// Returns true if a product reads the quantised weights directly, and false if their conversion to
// floats is faster. With few rows, each weight is used rarely. Byte dot products take less time
// than fused multiply-adds for any number of rows, but matrix units are faster. Only the direct
// product computes a row without regard to the others.
bool is_direct(const QuantizedProduct& p, Precision precision) {
  if (p.batch_invariant || p.rows <= kFewQuantizedRows) return true;
  const DType b = p.w.has_column_scales() ? DType::bf16 : DType::f32;
  return kernels::uses_byte_dots() &&
         &kernels::choose_engine(DType::f32, DType::f32, b, precision, p.rows, p.w.outputs,
                                 p.w.inputs) == &kernels::fma_engine(DType::f32);
}

// Reserves slot scratch for a block of converted weights. Returns its offset.
std::size_t reserve_block(Kernel& kernel, std::int64_t rows) {
  const std::size_t begin = aligned_size(kernel.slot_scratch);
  kernel.slot_scratch = begin + block_scratch_bytes(rows);
  return begin;
}

// Adds the phases of a product with many rows. Tiles convert their columns of W block by block. The
// weights of int8 are small integers times a scale per column. Powers of two make them bfloat16
// numbers, which need fewer products on a matrix unit than floats, and the results are scaled.
void add_many_rows(Kernel& kernel, const ProductRef& p, Precision precision) {
  const QuantizedOperands& w = p->w;
  const bool scaled = w.has_column_scales();
  GemmBatch batch;
  batch.m = p->rows;
  batch.n = w.outputs;
  batch.k = w.inputs;
  batch.a = {DType::f32, w.inputs};
  batch.b = {scaled ? DType::bf16 : DType::f32};
  batch.c = {DType::f32, w.outputs};
  batch.precision = precision;
  batch.convert_b = [p, scaled](const KernelRun& run, const MatrixPart& part, void* to,
                                std::int64_t stride) {
    const std::int64_t begin = part.column / kQuantizedPanel;
    const std::int64_t end = divide_up(part.column + part.columns, kQuantizedPanel);
    if (scaled) {
      kernels::dequantize_bf16_block(p->w.at(run), part.row, part.row + part.rows, begin, end,
                                     static_cast<BFloat16*>(to), stride);
    } else {
      kernels::dequantize_block(p->w.at(run), part.row, part.row + part.rows, begin, end,
                                static_cast<float*>(to), stride);
    }
  };
  ParallelGemm(kernel).add(
      std::move(batch),
      [p](const KernelRun& run) -> GemmPointers {
        return {run.inputs[0], run.inputs[p->w.q], p->result(run)};
      },
      [p, scaled](const KernelRun& run, const OutputTile& tile) {
        if (scaled) {
          kernels::scale_columns(p->w.at(run), tile.column, tile.columns, tile.rows,
                                 static_cast<float*>(tile.c), tile.c_stride);
        }
        if (p->epilogue != nullptr) p->epilogue(run, tile);
      });
}

// Adds a phase for a product with the transpose. Each chunk computes the columns of one block of
// inputs. The weights are converted block by block into scratch, and all rows are multiplied by
// each block.
void add_transposed(Kernel& kernel, const ProductRef& p) {
  const QuantizedOperands& w = p->w;
  const std::size_t begin_slot = reserve_block(kernel, p->rows);
  Phase phase;
  phase.chunks = divide_up(w.inputs, kBlockWidth);
  phase.cost_ns = static_cast<double>(p->rows) * static_cast<double>(w.inputs) *
                  static_cast<double>(w.outputs) / 40;
  phase.body = [p, begin_slot](const KernelRun& run, std::int64_t chunk) {
    const QuantizedOperands& w = p->w;
    const std::int64_t first = chunk * kBlockWidth, last = std::min(first + kBlockWidth, w.inputs);
    auto* const out = p->out<float>(run);
    multiply_transposed(w.at(run), run.in<float>(0), p->rows, first, last, out,
                        run.slot_scratch + begin_slot, p->batch_invariant);
    p->run_epilogue(run, out, first, last);
  };
  kernel.phases.push_back(std::move(phase));
}

void add_double(Kernel& kernel, const ProductRef& p) {
  Phase phase;
  phase.chunks = std::max<std::int64_t>(1, divide_up(p->columns(), kQuantizedPanel));
  phase.cost_ns = 4 * static_cast<double>(p->rows) * static_cast<double>(p->w.inputs) *
                  static_cast<double>(p->w.outputs);
  phase.body = [p](const KernelRun& run, std::int64_t panel) {
    const std::int64_t depth = p->depth(), columns = p->columns();
    const std::int64_t first = panel * kQuantizedPanel,
                       last = std::min(first + kQuantizedPanel, columns);
    auto* const out = p->out<double>(run);
    for (std::int64_t r = 0; r < p->rows; ++r) {
      const double* x = run.in<double>(0) + r * depth;
      for (std::int64_t j = first; j < last; ++j) {
        double sum = 0;
        for (std::int64_t i = 0; i < depth; ++i)
          sum += x[i] * (p->transpose ? p->w.weight(run, j, i) : p->w.weight(run, i, j));
        out[r * columns + j] = sum;
      }
    }
    p->run_epilogue(run, out, first, last);
  };
  kernel.phases.push_back(std::move(phase));
}

void add_zeros(Kernel& kernel, const ProductRef& p) {
  Phase phase;
  phase.body = [p](const KernelRun& run, std::int64_t) {
    auto* const out = p->out<float>(run);
    std::fill_n(out, p->rows * p->columns(), 0.0f);
    p->run_epilogue(run, out, 0, p->columns());
  };
  kernel.phases.push_back(std::move(phase));
}

// Adds the phases of a product. Their scratch is placed after the scratch that the kernel has
// already reserved.
void add_product(Kernel& kernel, const KernelRequest& r, QuantizedProduct product) {
  const std::int64_t elements = r.outputs[0].numel();
  const std::int64_t depth = r.inputs[0].sizes.back(), columns = r.outputs[0].sizes.back();
  product.transpose = r.attributes.flag("transpose");
  product.w = product.transpose ? quantized_operands(r, 1, columns, depth)
                                : quantized_operands(r, 1, depth, columns);
  product.rows = columns == 0 ? 0 : elements / columns;
  product.batch_invariant = r.batch_invariant;
  const auto p = std::make_shared<const QuantizedProduct>(std::move(product));
  if (r.inputs[0].dtype == DType::f64) return add_double(kernel, p);
  if (elements == 0 || depth == 0) return add_zeros(kernel, p);
  if (p->transpose) return add_transposed(kernel, p);
  is_direct(*p, r.precision) ? add_direct(kernel, p) : add_many_rows(kernel, p, r.precision);
}

double product_flops(const KernelRequest& r) {
  return 2 * static_cast<double>(r.outputs[0].numel()) *
         static_cast<double>(r.inputs[0].sizes.back());
}

// -- quantized_matmul -----------------------------------------------------------------------------

std::vector<ValueType> infer_matmul(const InferContext& c) { return {infer_product_type(c)}; }

Kernel quantized_matmul_kernel(const KernelRequest& r) {
  Kernel kernel;
  add_product(kernel, r, {.result = [](const KernelRun& run) { return run.outputs[0]; }});
  return kernel;
}

Cost quantized_matmul_cost(const KernelRequest& r) {
  return {.flops = product_flops(r), .bytes = operand_bytes(r)};
}

// -- quantized_matmul_fused -----------------------------------------------------------------------

std::vector<ValueType> infer_fused(const InferContext& c) {
  return infer_epilogue(c, infer_product_type(c), 3);
}

Kernel fused_kernel(const KernelRequest& r) {
  const auto epilogue = std::make_shared<const Epilogue>(r, 3);
  Kernel kernel;
  kernel.shared_scratch = epilogue->shared_scratch();
  kernel.slot_scratch = epilogue->slot_scratch();
  add_product(
      kernel, r,
      {.result = [epilogue](const KernelRun& run) { return epilogue->product(run); },
       .epilogue = [epilogue](const KernelRun& run,
                              const OutputTile& tile) { epilogue->run(run, tile, tile.row); }});
  return kernel;
}

Cost fused_cost(const KernelRequest& r) {
  return {.flops = product_flops(r) + epilogue_flops(r), .bytes = operand_bytes(r)};
}

OpRecord product_record(std::string name, std::string doc) {
  OpRecord r;
  r.name = std::move(name);
  r.doc = kQuantizedLayout + std::move(doc);
  r.inputs = {{"x"}, {"q"}, {"scale"}};
  r.attributes = {{"outputs", std::int64_t{0}, /*required=*/true},
                  {"transpose", false},
                  {"precision", std::string()}};
  r.gradient = Gradient::none;
  r.no_gradient_reason =
      "created by a pass; matmul(x, dequantize(q, scale)) is differentiable "
      "in x";
  return r;
}

}  // namespace

void QuantizedMatmulOps::add(OpSet& ops) {
  OpRecord matmul = product_record("quantized_matmul",
                                   "matmul(x, dequantize(q, scale)), or with the transpose of "
                                   "the matrix. `outputs` is the size of the last axis of the "
                                   "result.");
  matmul.infer = infer_matmul;
  matmul.kernel = quantized_matmul_kernel;
  matmul.cost = quantized_matmul_cost;
  ops.add(std::move(matmul));

  OpRecord fused = product_record("quantized_matmul_fused",
                                  "quantized_matmul followed by a tile program "
                                  "(ops/fusion/tile_program.h), as in matmul_fused. Returns the "
                                  "same bits as computing the product and the steps separately.");
  for (InputSpec& operand : epilogue_inputs()) fused.inputs.push_back(std::move(operand));
  fused.attributes.push_back({"program", std::string(), true});
  fused.outputs = epilogue_outputs();
  fused.infer = infer_fused;
  fused.kernel = fused_kernel;
  fused.cost = fused_cost;
  ops.add(std::move(fused));
}

}  // namespace weft
