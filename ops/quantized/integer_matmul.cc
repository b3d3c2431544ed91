// integer_matmul, which a pass substitutes for a product of rounded activations with a quantised
// matrix, and integer_matmul_fused, which adds an elementwise epilogue.
#include "weft/ops/quantized/integer_matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/rounding.h"
#include "weft/ops/fusion/epilogue.h"
#include "weft/ops/kernels/integer/integer_product.h"
#include "weft/ops/kernels/quantized/quantize_rows.h"
#include "weft/ops/operands.h"
#include "weft/ops/quantized/byte_patches.h"
#include "weft/ops/quantized/quantized_operands.h"

namespace weft {
namespace {

// The rows and panels of one piece of work. The rows and the results stay in the L2 cache. Rows of
// the result are long enough for the epilogue, which has a cost per row. The number of rows is a
// multiple of the blocks of all units (6 and 16). With a few rows, each piece reads this many bytes
// of weights.
constexpr std::int64_t kTileRows = 48, kTilePanels = 24;
constexpr std::int64_t kTileBytes = std::int64_t{1} << 16;
// Results that are rounded are computed in blocks of whole rows of at most this many bytes, which
// stay in the L2 cache, if there are at least kBlocks such blocks.
constexpr std::int64_t kRoundedBytes = std::int64_t{1} << 19, kBlocks = 4, kBlockUnit = 6;
constexpr int kFirstOperand = 5;  // of the epilogue
// Products per nanosecond and core, and the bytes of weights that a core reads per nanosecond.
constexpr double kProductsPerNs = 100, kBytesPerNs = 12;

// Returns the shape of the rows, and the number of inputs of each.
struct RowsType {
  std::vector<Dim> rows;
  std::int64_t inputs = 0;
};
RowsType rows_type(const InferContext& c) {
  const Shape& shape = c.shape(0);
  const Dim& last = shape[c.rank(0) - 1];
  if (!last.is_constant()) {
    throw ShapeError(
        fmt::format("the last axis of levels must have a fixed size, but is {}", last.str()));
  }
  RowsType type{std::vector<Dim>(shape.begin(), shape.end() - 1), last.constant()};
  if (const auto windows = optional_windows(c.attributes())) {
    c.require_rank(0, 4, "levels [N, H, W, C]");
    const auto out = windows->positions(shape[1], shape[2]);
    type.rows = {shape[0], out[0], out[1]};
    const std::int64_t taps = windows->height.kernel * windows->width.kernel;
    const bool is_long = std::max(taps, type.inputs) > kernels::kMaxIntegerInputs;
    type.inputs = is_long ? std::max(taps, type.inputs) : taps * type.inputs;
  }
  if (type.inputs > kernels::kMaxIntegerInputs) {
    throw ShapeError(
        fmt::format("a sum of {} products of bytes can exceed 32 bits: levels may have at most {} "
                    "elements per row; split the product",
                    type.inputs, kernels::kMaxIntegerInputs));
  }
  return type;
}

ValueType integer_product_type(const InferContext& c) {
  c.require_dtype(0, DType::i8, "levels");
  c.require_min_rank(0, 1, "levels");
  const bool scaled = c.has(1);
  if (scaled != c.has(3)) throw ArgumentError("step and scale must be given together");
  if (scaled) c.require_dtype(1, DType::f32, "step");
  auto [out, inputs] = rows_type(c);
  const std::int64_t columns = c.attributes().integer("outputs");
  if (scaled) {
    c.require_shape(1, Shape(out), "step");
    check_quantized(c, 2, 3, inputs, columns, DType::f32);
  } else {
    check_levels(c, 2, inputs, columns);
  }
  if (c.has(4)) {
    c.require_dtype(4, DType::i8, "zero");
    c.require_rank(4, 0, "zero");
    const bool grouped = scaled && c.dtype(3) == DType::f16;
    if (grouped) throw DTypeError("a zero point requires int8 weights");
  }
  out.emplace_back(columns);
  return {scaled ? DType::f32 : DType::i32, Shape(std::move(out))};
}

// A product of all rows with a matrix. It is not yet bound to memory.
struct IntegerProduct {
  QuantizedOperands w = {};
  bool is_scaled = false;
  std::int64_t rows = 0;
  const kernels::IntegerKernels* unit = nullptr;
  std::size_t row_bytes = 0, begin_rows = 0;  // of the prepared rows, in the shared scratch
  // With a zero point, the last prepared row consists of zero points. Its product is subtracted.
  bool has_zero = false;
  std::size_t begin_start = 0;              // of the negated product, in the shared scratch
  std::optional<BytePatches> patches = {};  // of a convolution
  std::shared_ptr<const Epilogue> epilogue = nullptr;  // null without steps
  /// The output for the levels of result 0, followed by the output for its steps; 0 for none.
  std::size_t levels_output = 0;

  kernels::QuantizedWeights weights(const KernelRun& run) const {
    if (is_scaled) return w.at(run);
    return {.q = run.inputs[2], .inputs = w.inputs, .outputs = w.outputs};
  }
  std::byte* prepared(const KernelRun& run, std::int64_t row) const {
    return run.shared_scratch + begin_rows + static_cast<std::size_t>(row) * row_bytes;
  }
  float* result_at(const KernelRun& run, std::int64_t row) const {
    void* const product = epilogue == nullptr ? run.outputs[0] : epilogue->product(run);
    return static_cast<float*>(product) + row * w.outputs;
  }
  /// Computes some columns of rows that are stored at `out`.
  void compute(const KernelRun& run, ChunkRange row, ChunkRange panel, float* out) const {
    const std::int64_t count = row.end - row.begin;
    kernels::QuantizedWeights matrix = weights(run);
    if (has_zero) matrix.start = start(run);
    const float* const steps = matrix.scale == nullptr ? out : run.in<float>(1) + row.begin;
    unit->product(matrix, prepared(run, row.begin), steps, count, panel.begin, panel.end, out,
                  w.outputs);
    if (epilogue == nullptr || count == 0 || panel.begin == panel.end) return;
    const std::int64_t first = panel.begin * kQuantizedPanel;
    epilogue->run(run,
                  {.row = row.begin,
                   .column = first,
                   .rows = count,
                   .columns = std::min(panel.end * kQuantizedPanel, w.outputs) - first,
                   .c = out + first,
                   .c_stride = w.outputs},
                  row.begin);
  }
  std::int32_t* start(const KernelRun& run) const {
    return reinterpret_cast<std::int32_t*>(run.shared_scratch + begin_start);
  }
  /// Rounds whole rows. `out` points to their products.
  void round(const KernelRun& run, ChunkRange row, float* out) const {
    auto* const levels = run.out<std::int8_t>(levels_output);
    auto* const steps = run.out<float>(levels_output + 1);
    kernels::quantize_rows(static_cast<const float*>(epilogue->first_result(run, row.begin, out)),
                           row.end - row.begin, w.outputs, nullptr,
                           levels == nullptr ? nullptr : levels + row.begin * w.outputs,
                           steps == nullptr ? nullptr : steps + row.begin);
  }
};
using IntegerProductRef = std::shared_ptr<const IntegerProduct>;

void add_prepare_rows(Kernel& kernel, const IntegerProductRef& p) {
  Phase phase;
  phase.chunks = chunk_count(p->rows * p->w.inputs, 1 << 15);
  phase.cost_ns = 0.1 * static_cast<double>(p->rows) * static_cast<double>(p->w.inputs);
  phase.body = [p, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(p->rows, chunks, chunk);
    const std::int8_t zero = p->has_zero ? *run.in<std::int8_t>(4) : std::int8_t{0};
    const auto* levels = run.in<std::int8_t>(0);
    std::vector<std::int8_t> rows;
    if (p->patches) {
      rows.resize(static_cast<std::size_t>((end - begin) * p->w.inputs));
      p->patches->gather(levels, begin, end, zero, rows.data());
      levels = rows.data();
    } else {
      levels += begin * p->w.inputs;
    }
    p->unit->prepare(p->weights(run), levels, end - begin, p->prepared(run, begin));
    if (!p->has_zero || chunk > 0) return;
    rows.assign(static_cast<std::size_t>(p->w.inputs), zero);
    p->unit->prepare(p->weights(run), rows.data(), 1, p->prepared(run, p->rows));
  };
  kernel.phases.push_back(std::move(phase));
}

// Computes minus the zero point times the sums of the columns: the product of the last prepared
// row.
void add_start(Kernel& kernel, const IntegerProductRef& p) {
  const std::int64_t bytes = p->w.panels() * p->w.panel_bytes();
  Phase phase;
  phase.chunks = std::clamp<std::int64_t>(chunk_count(bytes, kTileBytes), 1, p->w.panels());
  phase.cost_ns = static_cast<double>(bytes) / kBytesPerNs;
  phase.body = [p, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(p->w.panels(), chunks, chunk);
    kernels::QuantizedWeights matrix = p->weights(run);
    matrix.scale = nullptr;
    std::int32_t* const sums = p->start(run);
    auto* const out = reinterpret_cast<float*>(sums);
    p->unit->product(matrix, p->prepared(run, p->rows), out, 1, begin, end, out, p->w.outputs);
    const std::int64_t last = std::min(end * kQuantizedPanel, p->w.outputs);
    for (std::int64_t j = begin * kQuantizedPanel; j < last; ++j) sums[j] = -sums[j];
  };
  kernel.phases.push_back(std::move(phase));
}

void add_tiles(Kernel& kernel, const IntegerProductRef& p) {
  const QuantizedOperands& w = p->w;
  const std::int64_t row_tiles = divide_up(p->rows, kTileRows);
  // With a few rows, a piece has whole blocks of panels of all units.
  constexpr std::int64_t kPanelBlock = 4;
  const std::int64_t few_panels =
      divide_up(std::max<std::int64_t>(1, kTileBytes / w.panel_bytes()), kPanelBlock) * kPanelBlock;
  const std::int64_t panel_tiles =
      divide_up(w.panels(), p->rows <= kTileRows ? few_panels : kTilePanels);
  const double products =
      static_cast<double>(p->rows) * static_cast<double>(w.inputs) * static_cast<double>(w.outputs);
  Phase phase;
  phase.chunks = row_tiles * panel_tiles;
  phase.cost_ns = std::max(products / kProductsPerNs,
                           static_cast<double>(w.panels() * w.panel_bytes()) / kBytesPerNs);
  phase.body = [=](const KernelRun& run, std::int64_t chunk) {
    const ChunkRange row = chunk_range(p->rows, row_tiles, chunk % row_tiles, kTileRows);
    p->compute(run, row, chunk_range(p->w.panels(), panel_tiles, chunk / row_tiles),
               p->result_at(run, row.begin));
  };
  kernel.phases.push_back(std::move(phase));
}

// Rounds the rows of a result that is complete.
void add_rounding(Kernel& kernel, const IntegerProductRef& p) {
  Phase phase;
  phase.chunks = chunk_count(p->rows * p->w.outputs, 1 << 14);
  phase.cost_ns = 0.2 * static_cast<double>(p->rows) * static_cast<double>(p->w.outputs);
  phase.body = [p, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const ChunkRange row = chunk_range(p->rows, chunks, chunk);
    p->round(run, row, p->result_at(run, row.begin));
  };
  kernel.phases.push_back(std::move(phase));
}

// Returns the number of blocks of whole rows in which a result is computed and rounded, or 0 if it
// is rounded after all of it has been computed. A multiple of kBlocks suits several workers.
std::int64_t rounded_blocks(const IntegerProduct& p) {
  const std::int64_t row_bytes = p.w.outputs * 4;
  const std::int64_t rows =
      std::max(kRoundedBytes / row_bytes / kBlockUnit, std::int64_t{1}) * kBlockUnit;
  const std::int64_t blocks = divide_up(p.rows, rows);
  if (blocks >= kBlocks) return divide_up(blocks, kBlocks) * kBlocks;
  return 0;
}

// Computes and rounds blocks of whole rows. Unless the result is an output, they are stored in slot
// scratch.
void add_rounded_blocks(Kernel& kernel, const IntegerProductRef& p, std::int64_t blocks,
                        bool is_output) {
  const std::size_t begin_slot = aligned_size(kernel.slot_scratch);
  if (!is_output) {
    const std::int64_t most = divide_up(divide_up(p->rows, kBlockUnit), blocks) * kBlockUnit;
    kernel.slot_scratch = begin_slot + static_cast<std::size_t>(most * p->w.outputs) * 4;
  }
  Phase phase;
  phase.chunks = blocks;
  phase.cost_ns = static_cast<double>(p->rows) * static_cast<double>(p->w.inputs) *
                  static_cast<double>(p->w.outputs) / kProductsPerNs;
  phase.body = [=](const KernelRun& run, std::int64_t chunk) {
    const ChunkRange row = chunk_range(p->rows, blocks, chunk, kBlockUnit);
    if (row.begin == row.end) return;
    float* const out = is_output ? p->result_at(run, row.begin)
                                 : reinterpret_cast<float*>(run.slot_scratch + begin_slot);
    p->compute(run, row, {0, p->w.panels()}, out);
    p->round(run, row, out);
  };
  kernel.phases.push_back(std::move(phase));
}

void add_integer_zeros(Kernel& kernel, const IntegerProductRef& p) {
  Phase phase;
  phase.body = [p](const KernelRun& run, std::int64_t) {
    float* const out = p->result_at(run, 0);
    std::fill_n(out, p->rows * p->w.outputs, 0.0f);
    if (p->epilogue == nullptr || p->rows == 0 || p->w.outputs == 0) return;
    p->epilogue->run(
        run, {.rows = p->rows, .columns = p->w.outputs, .c = out, .c_stride = p->w.outputs}, 0);
  };
  kernel.phases.push_back(std::move(phase));
}

std::int64_t inputs_of(const KernelRequest& r) {
  std::int64_t inputs = r.inputs[0].sizes.back();
  for (const std::int64_t taps : r.attributes.integers("kernel")) inputs *= taps;
  return inputs;
}

void add_integer_product(Kernel& kernel, const KernelRequest& r, IntegerProduct product) {
  const std::int64_t elements = r.outputs[0].numel();
  const std::int64_t outputs = r.outputs[0].sizes.back();
  const std::int64_t inputs = inputs_of(r);
  if (const auto windows = optional_windows(r.attributes))
    product.patches.emplace(*windows, r.inputs[0].sizes);
  product.is_scaled = r.has_input(3);
  if (product.is_scaled) {
    product.w = quantized_operands(r, 2, inputs, outputs);
  } else {
    product.w = {.q = 2, .scale = 3, .inputs = inputs, .outputs = outputs};
  }
  product.has_zero = r.has_input(4);
  product.rows = 1;
  for (std::size_t i = 0; i + 1 < r.outputs[0].sizes.size(); ++i)
    product.rows *= r.outputs[0].sizes[i];
  product.unit = &kernels::integer_kernels(kernels::integer_unit());
  product.row_bytes = product.unit->row_bytes(
      {nullptr, nullptr, product.w.int4, product.w.inputs, outputs, product.w.q8_0});
  const bool is_empty = elements == 0 || product.w.inputs == 0;
  const std::int64_t blocks = product.levels_output == 0 || is_empty ? 0 : rounded_blocks(product);
  const Epilogue* const epilogue = product.epilogue.get();
  const bool is_output = epilogue == nullptr || epilogue->is_product_in_output();
  if (epilogue != nullptr) {
    kernel.slot_scratch = epilogue->slot_scratch();
    if (blocks == 0 || is_output) kernel.shared_scratch = epilogue->shared_scratch();
  }
  product.begin_rows = aligned_size(kernel.shared_scratch);
  if (product.has_zero) {
    product.begin_start = product.begin_rows;
    product.begin_rows += static_cast<std::size_t>(product.w.panels() * kQuantizedPanel) * 4;
  }
  const auto p = std::make_shared<const IntegerProduct>(std::move(product));
  if (is_empty) {
    add_integer_zeros(kernel, p);
  } else {
    const std::int64_t rows = p->rows + (p->has_zero ? 1 : 0);
    kernel.shared_scratch = p->begin_rows + static_cast<std::size_t>(rows) * p->row_bytes;
    add_prepare_rows(kernel, p);
    if (p->has_zero) add_start(kernel, p);
    if (blocks > 0) return add_rounded_blocks(kernel, p, blocks, is_output);
    add_tiles(kernel, p);
  }
  if (p->levels_output > 0) add_rounding(kernel, p);
}

double integer_product_flops(const KernelRequest& r) {
  return 2 * static_cast<double>(r.outputs[0].numel()) * static_cast<double>(inputs_of(r));
}

// -- integer_matmul -------------------------------------------------------------------------------

std::vector<ValueType> infer_integer_matmul(const InferContext& c) {
  return {integer_product_type(c)};
}

Kernel integer_matmul_kernel(const KernelRequest& r) {
  Kernel kernel;
  add_integer_product(kernel, r, {});
  return kernel;
}

Cost integer_matmul_cost(const KernelRequest& r) {
  return {.flops = integer_product_flops(r), .bytes = operand_bytes(r)};
}

// -- integer_matmul_fused -------------------------------------------------------------------------

std::vector<ValueType> infer_integer_fused(const InferContext& c) {
  const ValueType product = integer_product_type(c);
  std::vector<ValueType> types = infer_epilogue(c, product, kFirstOperand);
  if (!c.attributes().flag("quantize")) return types;
  if (product.dtype != DType::f32) throw ArgumentError("`quantize` requires step and scale");
  const ValueType result = types.at(1);
  if (result.dtype != DType::f32) {
    throw DTypeError(fmt::format("result 0 must be f32 to be rounded to levels, but is {}",
                                 dtype_name(result.dtype)));
  }
  if (types.size() - 1 + 2 > TileProgram::kMaxResults) {
    throw ArgumentError("with `quantize`, a program can have at most 6 results");
  }
  types.push_back({DType::i8, result.shape});
  types.push_back(
      {DType::f32, Shape(std::vector<Dim>(result.shape.begin(), result.shape.end() - 1))});
  return types;
}

Kernel integer_fused_kernel(const KernelRequest& r) {
  const bool quantize = r.attributes.flag("quantize");
  Kernel kernel;
  add_integer_product(kernel, r,
                      {.epilogue = std::make_shared<const Epilogue>(r, kFirstOperand, quantize),
                       .levels_output = quantize ? r.outputs.size() - 2 : 0});
  return kernel;
}

Cost integer_fused_cost(const KernelRequest& r) {
  return {.flops = integer_product_flops(r) + epilogue_flops(r), .bytes = operand_bytes(r)};
}

OpRecord integer_product_record(std::string name, std::string doc) {
  OpRecord r;
  r.name = std::move(name);
  r.doc = kQuantizedLayout + std::move(doc);
  r.inputs = {{"levels"},
              {"step", Arity::optional},
              {"q"},
              {"scale", Arity::optional},
              {"zero", Arity::optional}};
  const auto pair = [](std::int64_t n) { return std::vector<std::int64_t>{n, n}; };
  r.attributes = {{"outputs", std::int64_t{0}, /*required=*/true},
                  {"kernel", std::vector<std::int64_t>()},
                  {"stride", pair(1)},
                  {"padding", pair(0)},
                  {"dilation", pair(1)}};
  r.gradient = Gradient::none;
  r.no_gradient_reason =
      "created by a pass; matmul(fake_quantize(x), dequantize(q, scale)) is differentiable in x";
  return r;
}

}  // namespace

void add_integer_matmul(OpSet& ops) {
  OpRecord matmul = integer_product_record(
      "integer_matmul",
      "matmul(levels * step, dequantize(q, scale)), where levels (i8) and step (f32, one per row) "
      "are the results of quantize_rows. The scalar `zero` (i8, int8 weights only) is subtracted "
      "from the levels first. Without step and scale, the result is the product of integers, as "
      "i32. With `kernel`, the rows are the windows of images, levels [N, H, W, C], in the order "
      "[kernel height, kernel width, C], and the result is [N, OH, OW, outputs]; padding is "
      "`zero`, "
      "or 0 without it. Sums of products of integers are exact: over all inputs "
      "(int8) or over groups of 32 inputs (int4, q8_0), and the sums of groups are scaled and "
      "added in "
      "order.");
  matmul.infer = infer_integer_matmul;
  matmul.kernel = integer_matmul_kernel;
  matmul.cost = integer_matmul_cost;
  ops.add(std::move(matmul));

  OpRecord fused = integer_product_record(
      "integer_matmul_fused",
      "integer_matmul followed by a tile program (ops/fusion/tile_program.h), as in "
      "matmul_fused. Returns the same bits as computing the product and the steps "
      "separately. With `quantize`, the last two outputs are the levels and steps of "
      "quantize_rows(out0). Rows are rounded while they are in cache.");
  for (InputSpec& operand : epilogue_inputs()) fused.inputs.push_back(std::move(operand));
  fused.attributes.push_back({"program", std::string(), true});
  fused.attributes.push_back({"quantize", false});
  fused.outputs = epilogue_outputs();
  fused.infer = infer_integer_fused;
  fused.kernel = integer_fused_kernel;
  fused.cost = integer_fused_cost;
  ops.add(std::move(fused));
}

}  // namespace weft
