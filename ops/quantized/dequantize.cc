// Ops on quantised weight matrices. The op dequantize defines the values of the weights. Passes
// replace a take from the output of dequantize by quantized_take, and a matrix product with this
// output by quantized_matmul (quantized_matmul.cc).
#include "weft/ops/quantized/quantized.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/ops/builtin.h"
#include "weft/ops/indexing/index_kernel.h"
#include "weft/ops/quantized/int8_rows.h"
#include "weft/ops/quantized/quantized_operands.h"

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
  const std::optional<std::int64_t> stack = quantized_stack(c, 0);
  check_quantized(c, 0, 1, inputs, outputs, dtype, stack);
  std::vector<Dim> sizes =
      a.flag("transposed") ? std::vector<Dim>{outputs, inputs} : std::vector<Dim>{inputs, outputs};
  if (stack) sizes.insert(sizes.begin(), *stack);
  return {{dtype, Shape(std::move(sizes))}};
}

Kernel dequantize_kernel(const KernelRequest& r) {
  const QuantizedOperands w =
      quantized_operands(r, 0, r.attributes.integer("inputs"), r.attributes.integer("outputs"));
  const bool transposed = r.attributes.flag("transposed");
  const bool wide = r.outputs[0].dtype == DType::f64;
  Phase phase;
  const std::int64_t chunks =
      chunk_count(w.panels(), std::max<std::int64_t>(1, 65536 / (w.inputs * kPanel + 1)));
  phase.chunks = w.stack * chunks;
  phase.cost_ns = 0.3 * static_cast<double>(r.outputs[0].numel());
  phase.body = [=](const KernelRun& run, std::int64_t chunk) {
    const std::int64_t matrix = chunk / chunks, offset = matrix * w.inputs * w.outputs;
    const kernels::QuantizedWeights weights = w.at(run, matrix);
    const auto [begin, end] = chunk_range(w.panels(), chunks, chunk % chunks);
    const std::int64_t last = std::min(end * kPanel, w.outputs);
    for (std::int64_t j = begin * kPanel; j < last; ++j) {
      if (wide) {
        double* out = run.out<double>(0) + offset + (transposed ? j * w.inputs : j);
        for (std::int64_t i = 0; i < w.inputs; ++i)
          out[transposed ? i : i * w.outputs] = w.weight(run, i, j, matrix);
      } else if (transposed) {
        kernels::dequantize_channel(weights, j, run.out<float>(0) + offset + j * w.inputs);
      }
    }
    if (wide || transposed || begin == end) return;
    const std::int64_t whole = w.outputs / kPanel;
    float* const out = run.out<float>(0) + offset;
    kernels::dequantize_block(weights, 0, w.inputs, begin, std::min(end, whole),
                              out + begin * kPanel, w.outputs);
    if (end <= whole) return;
    float panel[kGroup * kPanel];
    for (std::int64_t i = 0; i < w.inputs; i += kGroup) {
      const std::int64_t stop = std::min(i + kGroup, w.inputs);
      kernels::dequantize_block(weights, i, stop, whole, whole + 1, panel, kPanel);
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

}  // namespace

void QuantizedOps::add(OpSet& ops) {
  add_int8_rows(ops);
  {
    OpRecord r;
    r.name = "dequantize";
    r.doc =
        std::string(kQuantizedLayout) +
        "Returns the matrix as floats, with shape [outputs, inputs] if transposed. With a first "
        "axis of matrices in q and scale, returns all matrices.";
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

}  // namespace weft
