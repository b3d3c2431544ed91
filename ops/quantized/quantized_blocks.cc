#include "weft/ops/quantized/quantized_blocks.h"

#include <algorithm>

#include "weft/core/rounding.h"
#include "weft/ops/kernels/gemm/serial.h"

namespace weft {
namespace {

// The block of weights that is converted to float at a time has this many inputs and kBlockWidth
// outputs, or vice versa.
constexpr std::int64_t kBlockInputs = 512;
constexpr std::size_t kBlockBytes = kBlockInputs * kBlockWidth * sizeof(float);
static_assert(kBlockWidth % kQuantizedGroup == 0 && kBlockInputs % kQuantizedPanel == 0);

}  // namespace

std::size_t block_scratch_bytes(std::int64_t rows) {
  return kBlockBytes + kernels::gemm_scratch_bytes(sizeof(float), rows, kBlockWidth, kBlockInputs);
}

void multiply_panels(const kernels::QuantizedWeights& w, const float* x, std::int64_t rows,
                     std::int64_t begin, std::int64_t end, float* out, std::byte* scratch) {
  auto* const block = reinterpret_cast<float*>(scratch);
  kernels::GemmProblem<float> gemm;
  gemm.m = rows;
  gemm.n = std::min(end * kQuantizedPanel, w.outputs) - begin * kQuantizedPanel;
  gemm.c = out + begin * kQuantizedPanel;
  gemm.c_stride = w.outputs;
  for (std::int64_t first = 0; first < w.inputs; first += kBlockInputs) {
    const std::int64_t last = std::min(first + kBlockInputs, w.inputs);
    kernels::dequantize_block(w, first, last, begin, end, block, kBlockWidth);
    gemm.k = last - first;
    gemm.a = {x + first, w.inputs, 1};
    gemm.b = {block, kBlockWidth, 1};
    gemm.accumulate = first > 0;
    kernels::gemm(gemm, scratch + kBlockBytes);
  }
}

void multiply_transposed(const kernels::QuantizedWeights& w, const float* x, std::int64_t rows,
                         std::int64_t first, std::int64_t last, float* out, std::byte* scratch,
                         bool batch_invariant) {
  auto* const block = reinterpret_cast<float*>(scratch);
  kernels::GemmProblem<float> gemm;
  gemm.m = rows;
  gemm.n = last - first;
  gemm.batch_invariant = batch_invariant;
  gemm.c = out + first;
  gemm.c_stride = w.inputs;
  for (std::int64_t j = 0; j < w.outputs; j += kBlockInputs) {
    const std::int64_t end = std::min(j + kBlockInputs, w.outputs);
    kernels::dequantize_block(w, first, last, j / kQuantizedPanel, divide_up(end, kQuantizedPanel),
                              block, kBlockInputs);
    gemm.k = end - j;
    gemm.a = {x + j, w.outputs, 1};
    gemm.b = {block, 1, kBlockInputs};
    gemm.accumulate = j > 0;
    kernels::gemm(gemm, scratch + kBlockBytes);
  }
}

}  // namespace weft
