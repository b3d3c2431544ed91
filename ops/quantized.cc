// The ops on quantised weight matrices: dequantize says what they mean; quantized_matmul and
// quantized_take are what passes make of a product with, and of rows taken from, a dequantize.
#include "weft/ops/quantized.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "weft/ops/builtin.h"
#include "weft/ops/index_kernel.h"
#include "weft/ops/kernels/gemm.h"
#include "weft/ops/kernels/quantized.h"
#include "weft/ops/sample_data.h"

namespace weft {
namespace {

using kernels::QuantizedWeights;

constexpr std::int64_t kPanel = kQuantizedPanel, kGroup = kQuantizedGroup;
// Up to so many rows a product reads the weights as they are: each weight is converted once per
// four rows. With more, a block converted once serves a matrix product.
constexpr std::int64_t kFewRows = 16;
// Bytes of weights per chunk: some microseconds of reading memory.
constexpr std::int64_t kChunkBytes = std::int64_t{1} << 16;
// A block of weights that is converted to float at once: it stays in the second-level cache.
constexpr std::int64_t kBlockInputs = 512, kBlockPanels = 8;
constexpr double kBytesPerNs = 12;  // weights read and used by one core

// -- Operands -------------------------------------------------------------------------------------

void check_sizes(const InferContext& c, int input, const Sizes& wanted, std::string_view what) {
  if (c.shape(input) == Shape(wanted)) return;
  throw ShapeError(fmt::format("{} must be {} (panels of 16 outputs), but is {}", what,
                               to_string(wanted), c.input(input).str()));
}

// Checks q and scale against a matrix [inputs, outputs] that is used as `result`.
void check_quantized(const InferContext& c, int q, int scale, std::int64_t inputs,
                     std::int64_t outputs, DType result) {
  if (inputs < 0 || outputs < 0) {
    throw ShapeError(fmt::format("a matrix cannot be [{}, {}]", inputs, outputs));
  }
  if (c.dtype(q) != DType::i8 && c.dtype(q) != DType::u8) {
    throw DTypeError(
        fmt::format("q must be i8 (int8) or u8 (int4), but is {}", dtype_name(c.dtype(q))));
  }
  const auto format = c.dtype(q) == DType::i8 ? QuantizedFormat::int8 : QuantizedFormat::int4;
  const auto name = quantized_format_name(format);
  const DType wanted = quantized_scale_dtype(format);
  // int8's scales are doubles in the double twin of a program.
  const bool twin = wanted == DType::f32 && result == DType::f64 && c.dtype(scale) == DType::f64;
  if (c.dtype(scale) != wanted && !twin) {
    throw DTypeError(fmt::format("the scale of {} must be {}, but is {}", name, dtype_name(wanted),
                                 dtype_name(c.dtype(scale))));
  }
  check_sizes(c, q, quantized_sizes(format, inputs, outputs),
              fmt::format("q of an {} matrix [{}, {}]", name, inputs, outputs));
  check_sizes(c, scale, quantized_scale_sizes(format, inputs, outputs),
              fmt::format("the scale of an {} matrix [{}, {}]", name, inputs, outputs));
}

DType checked_result(const InferContext& c) {
  const DType dtype = c.attributes().dtype("dtype");
  if (dtype != DType::f32 && dtype != DType::f64) {
    throw DTypeError(fmt::format("dtype must be f32 or f64, not {}", dtype_name(dtype)));
  }
  return dtype;
}

// The quantised operands of a kernel, before their memory is known.
struct Quantized {
  int q = 0, scale = 1;
  bool int4 = false;
  DType scale_dtype = DType::f32;
  std::int64_t inputs = 0, outputs = 0;

  std::int64_t panels() const { return (outputs + kPanel - 1) / kPanel; }
  std::int64_t groups() const { return (inputs + kGroup - 1) / kGroup; }
  std::int64_t panel_bytes() const {
    return int4 ? groups() * kPanel * (kGroup / 2 + 2) : (inputs + 3) / 4 * 4 * kPanel;
  }
  QuantizedWeights at(const KernelRun& run) const {
    return {run.inputs[q], run.inputs[scale], int4, inputs, outputs};
  }
  // W[i][j] in double: what the kernels for double are made of.
  double weight(const KernelRun& run, std::int64_t i, std::int64_t j) const {
    const std::int64_t panel = j / kPanel, lane = j % kPanel;
    if (int4) {
      const auto* bytes = run.in<std::uint8_t>(static_cast<std::size_t>(q));
      const std::uint8_t byte =
          bytes[((panel * 4 * groups() + i / 8) * kPanel + lane) * 4 + i % 8 / 2];
      const int nibble = i % 2 == 0 ? byte & 15 : byte >> 4;
      const auto* scales = run.in<Float16>(static_cast<std::size_t>(scale));
      return (nibble < 8 ? nibble : nibble - 16) *
             static_cast<double>(to_float(scales[(panel * groups() + i / kGroup) * kPanel + lane]));
    }
    const auto* steps = run.in<std::int8_t>(static_cast<std::size_t>(q));
    const double step = steps[((panel * ((inputs + 3) / 4) + i / 4) * kPanel + lane) * 4 + i % 4];
    const std::int64_t at = panel * kPanel + lane;
    return step * (scale_dtype == DType::f64
                       ? run.in<double>(static_cast<std::size_t>(scale))[at]
                       : static_cast<double>(run.in<float>(static_cast<std::size_t>(scale))[at]));
  }
};

Quantized quantized_operands(const KernelRequest& r, int q, std::int64_t inputs,
                             std::int64_t outputs) {
  return {q,
          q + 1,
          r.inputs[static_cast<std::size_t>(q)].dtype == DType::u8,
          r.inputs[static_cast<std::size_t>(q) + 1].dtype,
          inputs,
          outputs};
}

Kernel one_phase(Phase phase) {
  Kernel kernel;
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

// -- dequantize -----------------------------------------------------------------------------------

std::vector<ValueType> infer_dequantize(const InferContext& c) {
  const Attributes& a = c.attributes();
  const std::int64_t inputs = a.integer("inputs"), outputs = a.integer("outputs");
  const DType dtype = checked_result(c);
  check_quantized(c, 0, 1, inputs, outputs, dtype);
  return {{dtype, a.flag("transposed") ? Shape{outputs, inputs} : Shape{inputs, outputs}}};
}

Kernel dequantize_kernel(const KernelRequest& r) {
  const Quantized w =
      quantized_operands(r, 0, r.attributes.integer("inputs"), r.attributes.integer("outputs"));
  const bool transposed = r.attributes.flag("transposed");
  const bool wide = r.outputs[0].dtype == DType::f64;
  Phase phase;
  phase.chunks =
      chunk_count(w.panels(), std::max<std::int64_t>(1, 65536 / (w.inputs * kPanel + 1)));
  phase.cost_ns = 0.3 * static_cast<double>(w.inputs) * static_cast<double>(w.outputs);
  phase.body = [=, chunks = phase.chunks](const KernelRun& run, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(w.panels(), chunks, chunk);
    const std::int64_t last = std::min(end * kPanel, w.outputs);
    for (std::int64_t j = begin * kPanel; j < last; ++j) {
      if (wide) {
        double* out = run.out<double>(0) + (transposed ? j * w.inputs : j);
        for (std::int64_t i = 0; i < w.inputs; ++i)
          out[transposed ? i : i * w.outputs] = w.weight(run, i, j);
      } else if (transposed) {
        kernels::dequantize_channel(w.at(run), j, run.out<float>(0) + j * w.inputs);
      }
    }
    if (wide || transposed || begin == end) return;
    const std::int64_t whole = w.outputs / kPanel;
    float* const out = run.out<float>(0);
    kernels::dequantize_block(w.at(run), 0, w.inputs, begin, std::min(end, whole),
                              out + begin * kPanel, w.outputs);
    if (end <= whole) return;
    float panel[kGroup * kPanel];
    for (std::int64_t i = 0; i < w.inputs; i += kGroup) {
      const std::int64_t stop = std::min(i + kGroup, w.inputs);
      kernels::dequantize_block(w.at(run), i, stop, whole, whole + 1, panel, kPanel);
      for (std::int64_t row = i; row < stop; ++row) {
        std::copy_n(panel + (row - i) * kPanel, w.outputs - whole * kPanel,
                    out + row * w.outputs + whole * kPanel);
      }
    }
  };
  return one_phase(std::move(phase));
}

// -- quantized_take -------------------------------------------------------------------------------

std::vector<ValueType> infer_take(const InferContext& c) {
  const Attributes& a = c.attributes();
  const std::int64_t inputs = a.integer("inputs");
  const DType dtype = checked_result(c);
  check_quantized(c, 0, 1, inputs, a.integer("outputs"), dtype);
  c.require_index(2, "index");
  Shape shape = c.shape(2);
  shape.push_back(inputs);
  return {{dtype, std::move(shape)}};
}

Kernel take_kernel(const KernelRequest& r) {
  const Quantized w =
      quantized_operands(r, 0, r.attributes.integer("inputs"), r.attributes.integer("outputs"));
  const OperandSpec& index = r.inputs[2];
  const std::int64_t rows = index.numel();
  const bool wide = r.outputs[0].dtype == DType::f64;
  Phase phase;
  phase.chunks = chunk_count(rows, std::max<std::int64_t>(1, 4096 / (w.inputs + 1)));
  phase.cost_ns = 5 * static_cast<double>(rows) * static_cast<double>(w.inputs);
  phase.body = [=, chunks = phase.chunks, dtype = index.dtype](const KernelRun& run,
                                                               std::int64_t chunk) {
    const auto [begin, end] = chunk_range(rows, chunks, chunk);
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t j = read_index(run.inputs[2], dtype, row);
      if (wide) {
        double* out = run.out<double>(0) + row * w.inputs;
        for (std::int64_t i = 0; i < w.inputs; ++i) out[i] = w.weight(run, i, j);
      } else {
        kernels::dequantize_channel(w.at(run), j, run.out<float>(0) + row * w.inputs);
      }
    }
  };
  Kernel kernel = one_phase(std::move(phase));
  kernel.check = index_check(index, 2, "the matrix has rows", w.outputs);
  return kernel;
}

// -- quantized_matmul -----------------------------------------------------------------------------

std::vector<ValueType> infer_matmul(const InferContext& c) {
  c.require_floating(0, "x");
  c.require_min_rank(0, 1, "x");
  const std::int64_t outputs = c.attributes().integer("outputs");
  Shape shape = c.shape(0);
  const Dim inputs = shape[c.rank(0) - 1];
  if (!inputs.is_constant()) {
    throw ShapeError(
        fmt::format("the last axis of x must have a fixed size, but is {}", inputs.str()));
  }
  check_quantized(c, 1, 2, inputs.constant(), outputs, c.dtype(0));
  std::vector<Dim> out(shape.begin(), shape.end() - 1);
  out.push_back(Dim(outputs));
  return {{c.dtype(0), Shape(std::move(out))}};
}

// The rows are first brought into the form that products read, by one chunk: they are small.
Kernel few_rows_kernel(const Quantized& w, std::int64_t rows) {
  Kernel kernel;
  kernel.shared_scratch = kernels::prepared_rows_bytes(w.inputs, rows);
  Phase prepare;
  prepare.cost_ns = 0.3 * static_cast<double>(rows) * static_cast<double>(w.inputs);
  prepare.body = [w, rows](const KernelRun& run, std::int64_t) {
    kernels::prepare_rows(w.at(run), run.in<float>(0), rows, run.shared_scratch);
  };
  kernel.phases.push_back(std::move(prepare));

  Phase product;
  product.chunks = chunk_count(w.panels() * w.panel_bytes(), kChunkBytes);
  product.chunks = std::clamp<std::int64_t>(product.chunks, 1, w.panels());
  product.cost_ns = static_cast<double>(w.panels() * w.panel_bytes()) / kBytesPerNs *
                    (0.5 + 0.5 * static_cast<double>(rows));
  product.body = [w, rows, chunks = product.chunks](const KernelRun& run, std::int64_t chunk) {
    const auto [begin, end] = chunk_range(w.panels(), chunks, chunk);
    kernels::quantized_product(w.at(run), run.in<float>(0), run.shared_scratch, rows, begin, end,
                               run.out<float>(0));
  };
  kernel.phases.push_back(std::move(product));
  return kernel;
}

// Columns of a block of panels per chunk: its weights are converted block by block into scratch,
// each multiplied with all rows.
Kernel many_rows_kernel(const Quantized& w, std::int64_t rows) {
  const std::int64_t tiles = (w.panels() + kBlockPanels - 1) / kBlockPanels;
  const std::int64_t width = kBlockPanels * kPanel;
  const std::size_t block_bytes = static_cast<std::size_t>(kBlockInputs * width) * sizeof(float);
  Kernel kernel;
  kernel.slot_scratch =
      block_bytes + kernels::gemm_scratch_bytes(sizeof(float), rows, width, kBlockInputs);
  Phase phase;
  phase.chunks = tiles;
  phase.cost_ns = static_cast<double>(rows) * static_cast<double>(w.inputs) *
                  static_cast<double>(w.outputs) / 40;
  phase.body = [=](const KernelRun& run, std::int64_t chunk) {
    const std::int64_t begin = chunk * kBlockPanels;
    const std::int64_t end = std::min(begin + kBlockPanels, w.panels());
    auto* const block = reinterpret_cast<float*>(run.slot_scratch);
    kernels::GemmProblem<float> gemm;
    gemm.m = rows;
    gemm.n = std::min(end * kPanel, w.outputs) - begin * kPanel;
    gemm.c = run.out<float>(0) + begin * kPanel;
    gemm.c_stride = w.outputs;
    for (std::int64_t first = 0; first < w.inputs; first += kBlockInputs) {
      const std::int64_t last = std::min(first + kBlockInputs, w.inputs);
      kernels::dequantize_block(w.at(run), first, last, begin, end, block, width);
      gemm.k = last - first;
      gemm.a = {run.in<float>(0) + first, w.inputs, 1};
      gemm.b = {block, width, 1};
      gemm.accumulate = first > 0;
      kernels::gemm(gemm, run.slot_scratch + block_bytes);
    }
  };
  kernel.phases.push_back(std::move(phase));
  return kernel;
}

Phase double_phase(const Quantized& w, std::int64_t rows) {
  Phase phase;
  phase.chunks = std::max<std::int64_t>(1, w.panels());
  phase.cost_ns = 4 * static_cast<double>(rows) * static_cast<double>(w.inputs) *
                  static_cast<double>(w.outputs);
  phase.body = [w, rows](const KernelRun& run, std::int64_t panel) {
    const std::int64_t last = std::min((panel + 1) * kPanel, w.outputs);
    for (std::int64_t r = 0; r < rows; ++r) {
      const double* x = run.in<double>(0) + r * w.inputs;
      for (std::int64_t j = panel * kPanel; j < last; ++j) {
        double sum = 0;
        for (std::int64_t i = 0; i < w.inputs; ++i) sum += x[i] * w.weight(run, i, j);
        run.out<double>(0)[r * w.outputs + j] = sum;
      }
    }
  };
  return phase;
}

Phase zeros_phase(std::int64_t elements) {
  Phase phase;
  phase.body = [elements](const KernelRun& run, std::int64_t) {
    std::fill_n(run.out<float>(0), elements, 0.0f);
  };
  return phase;
}

Kernel matmul_kernel(const KernelRequest& r) {
  const Quantized w = quantized_operands(r, 1, r.inputs[0].sizes.back(), r.outputs[0].sizes.back());
  const std::int64_t elements = r.outputs[0].numel();
  const std::int64_t rows = w.outputs == 0 ? 0 : elements / w.outputs;
  if (r.inputs[0].dtype == DType::f64) return one_phase(double_phase(w, rows));
  if (elements == 0 || w.inputs == 0) return one_phase(zeros_phase(elements));
  if (rows <= kFewRows) return few_rows_kernel(w, rows);
  return many_rows_kernel(w, rows);
}

Cost matmul_cost(const KernelRequest& r) {
  double bytes = 0;
  for (const OperandSpec& operand : r.inputs)
    bytes += static_cast<double>(operand.numel()) * static_cast<double>(dtype_size(operand.dtype));
  const double elements = static_cast<double>(r.outputs[0].numel());
  bytes += elements * static_cast<double>(dtype_size(r.outputs[0].dtype));
  return {.flops = 2 * elements * static_cast<double>(r.inputs[0].sizes.back()), .bytes = bytes};
}

// -- Samples --------------------------------------------------------------------------------------

constexpr auto kInt8 = QuantizedFormat::int8, kInt4 = QuantizedFormat::int4;

Attributes matrix_attributes(std::int64_t inputs, std::int64_t outputs) {
  return {{"inputs", inputs}, {"outputs", outputs}, {"dtype", DType::f32}};
}

QuantizedMatrix sample_matrix(QuantizedFormat format, std::int64_t inputs, std::int64_t outputs) {
  return quantize_matrix(sample_uniform({inputs, outputs}, 31), format, false);
}

std::vector<OpSample> dequantize_samples() {
  std::vector<OpSample> samples;
  for (const auto format : {kInt8, kInt4}) {
    for (const auto& [inputs, outputs] :
         {std::pair<int, int>{5, 3}, {40, 16}, {64, 37}, {1, 1}, {0, 3}, {3, 0}}) {
      for (const bool transposed : {false, true}) {
        const QuantizedMatrix m = sample_matrix(format, inputs, outputs);
        Attributes attributes = matrix_attributes(inputs, outputs);
        attributes.set("transposed", transposed);
        samples.push_back({{m.q, m.scale}, attributes});
      }
    }
  }
  return samples;
}

std::vector<OpSample> take_samples() {
  std::vector<OpSample> samples;
  for (const auto format : {kInt8, kInt4}) {
    const QuantizedMatrix m = sample_matrix(format, 37, 21);
    samples.push_back({{m.q, m.scale, sample_indices({2, 3}, 5, 21)}, matrix_attributes(37, 21)});
    samples.push_back(
        {{m.q, m.scale, sample_indices({}, 6, 21).to(DType::i32)}, matrix_attributes(37, 21)});
    samples.push_back({{m.q, m.scale, sample_indices({0}, 7, 21)}, matrix_attributes(37, 21)});
  }
  return samples;
}

std::vector<OpSample> matmul_samples() {
  std::vector<OpSample> samples;
  const auto add = [&](Sizes x, std::int64_t outputs) {
    for (const auto format : {kInt8, kInt4}) {
      const QuantizedMatrix m = sample_matrix(format, x.back(), outputs);
      samples.push_back({{sample_uniform(x, 41), m.q, m.scale}, {{"outputs", outputs}}});
    }
  };
  for (std::int64_t rows = 1; rows <= 9; ++rows) add({rows, 70}, 35);
  add({1, 96}, 48);
  add({1}, 1);
  add({33}, 15);
  add({2, 2, 7}, 16);
  add({3, 11, 40}, 150);
  add({17, 530}, 20);
  add({0, 5}, 3);
  add({2, 0}, 3);
  add({2, 3}, 0);
  return samples;
}

std::vector<OpErrorSample> dequantize_errors() {
  const ValueType q{DType::i8, {1, 2, 16, 4}}, scale{DType::f32, {1, 16}};
  return {
      {{q, scale}, {}, "inputs"},
      {{q, scale}, matrix_attributes(9, 3), "q of an int8 matrix [9, 3] must be [1, 3, 16, 4]"},
      {{q, {DType::f32, {2, 16}}},
       matrix_attributes(5, 3),
       "the scale of an int8 matrix [5, 3] must be [1, 16]"},
      {{q, {DType::f16, {1, 16}}}, matrix_attributes(5, 3), "must be f32, but is f16"},
      {{{DType::f32, {5, 3}}, scale}, matrix_attributes(5, 3), "q must be i8 (int8) or u8 (int4)"},
      {{{DType::u8, {1, 4, 16, 4}}, {DType::f16, {1, 2, 16}}},
       matrix_attributes(5, 3),
       "the scale of an int4 matrix [5, 3] must be [1, 1, 16]"},
      {{q, scale},
       {{"inputs", std::int64_t{5}}, {"outputs", std::int64_t{3}}, {"dtype", DType::bf16}},
       "dtype must be f32 or f64, not bf16"},
      {{q, scale}, matrix_attributes(5, -3), "a matrix cannot be [5, -3]"},
  };
}

std::vector<OpErrorSample> take_errors() {
  const ValueType q{DType::i8, {1, 2, 16, 4}}, scale{DType::f32, {1, 16}};
  return {{{q, scale, {DType::f32, {2}}}, matrix_attributes(5, 3), "index"},
          {{q, scale, {DType::i64, {2}}}, matrix_attributes(4, 3), "must be [1, 1, 16, 4]"}};
}

std::vector<OpErrorSample> matmul_errors() {
  const ValueType x{DType::f32, {2, 5}}, q{DType::i8, {1, 2, 16, 4}}, scale{DType::f32, {1, 16}};
  const Attributes three{{"outputs", std::int64_t{3}}};
  return {{{x, q, scale}, {{"outputs", std::int64_t{17}}}, "must be [2, 2, 16, 4]"},
          {{{DType::f32, {2, 4}}, q, scale}, three, "must be [1, 1, 16, 4]"},
          {{{DType::bf16, {2, 5}}, q, scale}, three, "x must be f32 or f64, but is bf16"},
          {{{DType::f32, {}}, q, scale}, three, "x must have at least 1 ax"},
          {{x, q, {DType::f64, {1, 16}}}, three, "must be f32, but is f64"}};
}

constexpr const char* kLayout =
    "q and scale hold a matrix [inputs, outputs], int8 with a scale per output or int4 with a "
    "scale "
    "per output and 32 inputs, in the layout that ops/quantized.h defines. ";

}  // namespace

void add_quantized_ops(OpSet& ops) {
  {
    OpRecord r;
    r.name = "dequantize";
    r.doc = std::string(kLayout) + "The matrix as floats, [outputs, inputs] where transposed.";
    r.inputs = {{"q"}, {"scale"}};
    r.attributes = {{"inputs", std::int64_t{0}, /*required=*/true},
                    {"outputs", std::int64_t{0}, /*required=*/true},
                    {"transposed", false},
                    {"dtype", DType::f32}};
    r.infer = infer_dequantize;
    r.kernel = dequantize_kernel;
    r.gradient = Gradient::none;
    r.no_gradient_reason = "quantised weights are constants: train the floats they were made of";
    r.samples = dequantize_samples;
    r.error_samples = dequantize_errors;
    ops.add(std::move(r));
  }
  {
    OpRecord r;
    r.name = "quantized_take";
    r.doc = std::string(kLayout) + "Columns of it: take(dequantize(q, scale, transposed), index).";
    r.inputs = {{"q"}, {"scale"}, {"index"}};
    r.attributes = {{"inputs", std::int64_t{0}, /*required=*/true},
                    {"outputs", std::int64_t{0}, /*required=*/true},
                    {"dtype", DType::f32}};
    r.infer = infer_take;
    r.kernel = take_kernel;
    r.gradient = Gradient::none;
    r.no_gradient_reason = "quantised weights are constants: train the floats they were made of";
    r.samples = take_samples;
    r.error_samples = take_errors;
    ops.add(std::move(r));
  }
  {
    OpRecord r;
    r.name = "quantized_matmul";
    r.doc = std::string(kLayout) + "matmul(x, dequantize(q, scale)); inputs is x's last axis.";
    r.inputs = {{"x"}, {"q"}, {"scale"}};
    r.attributes = {{"outputs", std::int64_t{0}, /*required=*/true}};
    r.infer = infer_matmul;
    r.kernel = matmul_kernel;
    r.cost = matmul_cost;
    r.gradient = Gradient::none;
    r.no_gradient_reason =
        "a pass makes it for inference; matmul(x, dequantize(q, scale)) has a gradient in x";
    r.samples = matmul_samples;
    r.error_samples = matmul_errors;
    ops.add(std::move(r));
  }
}

}  // namespace weft
