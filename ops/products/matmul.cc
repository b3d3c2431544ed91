// The record of matmul, which computes matrix products over broadcast batch axes.
#include "weft/ops/builtin.h"
#include "weft/ops/gemm/operands.h"
#include "weft/ops/gemm/parallel.h"

namespace weft {
namespace {

std::vector<ValueType> infer(const InferContext& c) { return {matmul_type(c)}; }

Kernel matmul_kernel(const KernelRequest& request) {
  Kernel kernel;
  ParallelGemm(kernel).add(matmul_batch(request, request.outputs[0]),
                           [](const KernelRun& run) -> GemmPointers {
                             return {run.inputs[0], run.inputs[1], run.outputs[0]};
                           });
  return kernel;
}

Cost matmul_cost(const KernelRequest& request) {
  double bytes = 0;
  for (const OperandSpec* spec : {&request.inputs[0], &request.inputs[1], &request.outputs[0]}) {
    bytes += static_cast<double>(spec->numel()) * static_cast<double>(dtype_size(spec->dtype));
  }
  return {.flops = matmul_flops(request, request.outputs[0]), .bytes = bytes};
}

}  // namespace

void MatmulOps::add(OpSet& ops) {
  OpRecord r;
  r.name = "matmul";
  r.doc =
      "out[..., i, j] = sum_k a[..., i, k] b[..., k, j]; the axes before the last two are "
      "broadcast. With transpose_a or transpose_b, the last two axes of that operand are "
      "swapped in memory. An empty sum is 0. bf16 and f16 operands are converted to f32, or to "
      "f64 if the other operand is f64; this is also the dtype of the result. precision is "
      "highest, high or medium; if it is empty, the precision of the program is used.";
  r.inputs = {{"a"}, {"b"}};
  r.attributes = {{"transpose_a", false}, {"transpose_b", false}, {"precision", std::string()}};
  r.infer = infer;
  r.kernel = matmul_kernel;
  r.cost = matmul_cost;
  ops.add(std::move(r));
}

}  // namespace weft
