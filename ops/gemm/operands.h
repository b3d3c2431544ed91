// What matmul and matmul_fused share: the type of a product and how matrices lie in memory.
#pragma once

#include <vector>

#include "weft/ops/gemm/batch.h"
#include "weft/ops/op.h"

namespace weft {

/// Shape rule of inputs 0 and 1 with attributes transpose_a, transpose_b and precision.
ValueType infer_product(const InferContext& context);
/// The products of inputs 0 and 1 into a dense tensor of type `out`.
ProductShape product_of(const KernelRequest& request, const OperandSpec& out);
/// FLOPs of the products into `out`.
double product_flops(const KernelRequest& request, const OperandSpec& out);

}  // namespace weft
