// Ops on quantised weight matrices. The op dequantize defines the values of the weights. Passes
// replace a take from the output of dequantize by quantized_take, and a matrix product with this
// output by quantized_matmul (quantized_matmul.cc).
#include "weft/ops/quantized/quantized.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "weft/ops/builtin.h"
#include "weft/ops/indexing/index_kernel.h"
#include "weft/ops/quantized/quantized_operands.h"
#include "weft/ops/sample_data.h"
#include "weft/ops/samples.h"

namespace weft {
namespace {

constexpr std::int64_t kPanel = kQuantizedPanel, kGroup = kQuantizedGroup;
DType checked_result(const InferContext& c) {
  const DType dtype = c.attributes().dtype("dtype");
  if (dtype != DType::f32 && dtype != DType::f64) {
    throw DTypeError(fmt::format("dtype must be f32 or f64, not {}", dtype_name(dtype)));
  }
  return dtype;
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
  const QuantizedOperands w =
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

std::vector<ValueType> infer_take_quantized(const InferContext& c) {
  const Attributes& a = c.attributes();
  const std::int64_t inputs = a.integer("inputs");
  const DType dtype = checked_result(c);
  check_quantized(c, 0, 1, inputs, a.integer("outputs"), dtype);
  c.require_index(2, "index");
  Shape shape = c.shape(2);
  shape.push_back(inputs);
  return {{dtype, std::move(shape)}};
}

Kernel take_quantized_kernel(const KernelRequest& r) {
  const QuantizedOperands w =
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
  kernel.check = index_check(index, 2, "the number of matrix rows is", w.outputs);
  return kernel;
}

// -- Samples --------------------------------------------------------------------------------------

constexpr auto kInt8 = QuantizedFormat::int8, kInt4 = QuantizedFormat::int4;

Attributes matrix_attributes(std::int64_t inputs, std::int64_t outputs) {
  return {{"inputs", inputs}, {"outputs", outputs}, {"dtype", DType::f32}};
}

std::vector<OpSample> dequantize_samples() {
  std::vector<OpSample> samples;
  for (const auto format : {kInt8, kInt4}) {
    for (const auto& [inputs, outputs] :
         {std::pair<int, int>{5, 3}, {40, 16}, {64, 37}, {1, 1}, {0, 3}, {3, 0}}) {
      for (const bool transposed : {false, true}) {
        const QuantizedMatrix m = sample_quantized(format, inputs, outputs);
        Attributes attributes = matrix_attributes(inputs, outputs);
        attributes.set("transposed", transposed);
        samples.push_back({{m.q, m.scale}, attributes});
      }
    }
  }
  return samples;
}

std::vector<OpSample> take_quantized_samples() {
  std::vector<OpSample> samples;
  for (const auto format : {kInt8, kInt4}) {
    const QuantizedMatrix m = sample_quantized(format, 37, 21);
    samples.push_back({{m.q, m.scale, sample_indices({2, 3}, 5, 21)}, matrix_attributes(37, 21)});
    samples.push_back(
        {{m.q, m.scale, sample_indices({}, 6, 21).to(DType::i32)}, matrix_attributes(37, 21)});
    samples.push_back({{m.q, m.scale, sample_indices({0}, 7, 21)}, matrix_attributes(37, 21)});
  }
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
      {{q, scale},
       matrix_attributes(5, -3),
       "sizes of a quantised matrix must be in [0, 2^47], but are [5, -3]"},
  };
}

std::vector<OpErrorSample> take_quantized_errors() {
  const ValueType q{DType::i8, {1, 2, 16, 4}}, scale{DType::f32, {1, 16}};
  return {{{q, scale, {DType::f32, {2}}}, matrix_attributes(5, 3), "index"},
          {{q, scale, {DType::i64, {2}}}, matrix_attributes(4, 3), "must be [1, 1, 16, 4]"}};
}

}  // namespace

void QuantizedOps::add(OpSet& ops) {
  {
    OpRecord r;
    r.name = "dequantize";
    r.doc = std::string(kQuantizedLayout) +
            "Returns the matrix as floats, with shape [outputs, inputs] if transposed.";
    r.inputs = {{"q"}, {"scale"}};
    r.attributes = {{"inputs", std::int64_t{0}, /*required=*/true},
                    {"outputs", std::int64_t{0}, /*required=*/true},
                    {"transposed", false},
                    {"dtype", DType::f32}};
    r.infer = infer_dequantize;
    r.kernel = dequantize_kernel;
    r.gradient = Gradient::none;
    r.no_gradient_reason = "quantised weights are constants: train the float weights instead";
    ops.add(std::move(r));
  }
  {
    OpRecord r;
    r.name = "quantized_take";
    r.doc = std::string(kQuantizedLayout) +
            "Returns columns of the matrix: take(dequantize(q, scale, transposed), index).";
    r.inputs = {{"q"}, {"scale"}, {"index"}};
    r.attributes = {{"inputs", std::int64_t{0}, /*required=*/true},
                    {"outputs", std::int64_t{0}, /*required=*/true},
                    {"dtype", DType::f32}};
    r.infer = infer_take_quantized;
    r.kernel = take_quantized_kernel;
    r.gradient = Gradient::none;
    r.no_gradient_reason = "quantised weights are constants: train the float weights instead";
    ops.add(std::move(r));
  }
}

void QuantizedOps::add(OpSamples& all) {
  all.add("dequantize", dequantize_samples, dequantize_errors);
  all.add("quantized_take", take_quantized_samples, take_quantized_errors);
}

}  // namespace weft
