// Checks the operands of matrix products, and converts those of matmul and matmul_fused to a batch
// of products.
#pragma once

#include <string_view>

#include "weft/ops/gemm/batch.h"
#include "weft/ops/op.h"

namespace weft {

/// Returns the dtype of a product of inputs 0 and 1: f64 if one of them is f64, otherwise f32.
/// Throws DTypeError unless both have this dtype, bf16 or f16. `a` and `b` name the inputs in the
/// message.
DType product_dtype(const InferContext& context, std::string_view a, std::string_view b);
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
