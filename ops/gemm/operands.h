// Converts the operands of matmul to a batch of products. Shared by matmul and matmul_fused.
#pragma once

#include "weft/ops/gemm/batch.h"
#include "weft/ops/op.h"

namespace weft {

/// Returns the type of the product of inputs 0 and 1, given the attributes transpose_a, transpose_b
/// and precision. Throws ArgumentError, DTypeError or ShapeError if the inputs or attributes are
/// invalid.
ValueType matmul_type(const InferContext& context);
/// Returns the batch of products of inputs 0 and 1. The results are stored in a dense tensor of
/// type `out`.
GemmBatch matmul_batch(const KernelRequest& request, const OperandSpec& out);
/// Returns the FLOPs of the products.
double matmul_flops(const KernelRequest& request, const OperandSpec& out);

}  // namespace weft
