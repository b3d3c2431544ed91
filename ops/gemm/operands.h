// matmul's operands as a batch of products: what matmul and matmul_fused share.
#pragma once

#include "weft/ops/gemm/batch.h"
#include "weft/ops/op.h"

namespace weft {

/// Shape rule of inputs 0 and 1 with attributes transpose_a, transpose_b and precision.
ValueType matmul_type(const InferContext& context);
/// The products of inputs 0 and 1 into a dense tensor of type `out`.
GemmBatch matmul_batch(const KernelRequest& request, const OperandSpec& out);
/// FLOPs of the products into `out`.
double matmul_flops(const KernelRequest& request, const OperandSpec& out);

}  // namespace weft
