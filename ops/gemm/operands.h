// The operands of matmul as a batch of products, shared by matmul and matmul_fused.
#pragma once

#include "weft/ops/gemm/batch.h"
#include "weft/ops/op.h"

namespace weft {

/// Returns the type of the product of inputs 0 and 1, with attributes transpose_a, transpose_b and
/// precision. Throws if they do not match.
ValueType matmul_type(const InferContext& context);
/// Returns the products of inputs 0 and 1 into a dense tensor of type `out`.
GemmBatch matmul_batch(const KernelRequest& request, const OperandSpec& out);
/// Returns the FLOPs of the products into `out`.
double matmul_flops(const KernelRequest& request, const OperandSpec& out);

}  // namespace weft
