// The record of `matmul_fused`: a matrix product with an elementwise epilogue, which runs tile by
// tile while the elements are in cache. The pass `epilogue` creates this op after differentiation;
// users need not create it.
#include "weft/ops/builtin.h"
#include "weft/ops/fusion/epilogue.h"
#include "weft/ops/gemm/operands.h"
#include "weft/ops/gemm/parallel.h"
#include "weft/ops/operands.h"

namespace weft {
namespace {

std::vector<ValueType> infer_with_epilogue(const InferContext& context) {
  return infer_epilogue(context, matmul_type(context), 2);
}

Kernel make_kernel(const KernelRequest& request) {
  const auto epilogue = std::make_shared<const Epilogue>(request, 2);
  Kernel kernel;
  kernel.slot_scratch = epilogue->slot_scratch();
  kernel.shared_scratch = epilogue->shared_scratch();
  GemmBatch batch = matmul_batch(request, request.outputs[0]);
  const std::int64_t rows = batch.m;
  ParallelGemm(kernel).add(
      std::move(batch),
      [epilogue](const KernelRun& run) -> GemmPointers {
        return {run.inputs[0], run.inputs[1], epilogue->product(run)};
      },
      [epilogue, rows](const KernelRun& run, const OutputTile& tile) {
        epilogue->run(run, tile, tile.item * rows + tile.row);
      });
  return kernel;
}

Cost cost(const KernelRequest& request) {
  return {.flops = matmul_flops(request, request.outputs[0]) + epilogue_flops(request),
          .bytes = operand_bytes(request)};
}

}  // namespace

void MatmulFusedOps::add(OpSet& ops) {
  OpRecord r;
  r.name = "matmul_fused";
  r.doc =
      "matmul(a, b) followed by a tile program (ops/fusion/tile_program.h), in which %0 is the "
      "product. Other inputs of the program have the product's shape, one element per column, or a "
      "single element. Returns the same bits as computing the product and the steps "
      "separately.";
  r.inputs = {{"a"}, {"b"}};
  for (InputSpec& operand : epilogue_inputs()) r.inputs.push_back(std::move(operand));
  r.outputs = epilogue_outputs();
  r.attributes = {{"program", std::string(), true},
                  {"transpose_a", false},
                  {"transpose_b", false},
                  {"precision", std::string()}};
  r.infer = infer_with_epilogue;
  r.kernel = make_kernel;
  r.cost = cost;
  r.gradient = Gradient::none;
  r.no_gradient_reason = "created after differentiation; differentiate the unfused ops";
  ops.add(std::move(r));
}

}  // namespace weft
