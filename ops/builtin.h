// The families of built-in ops: each adds its records to an OpSet. Listed explicitly in builtin.cc,
// so that no linker can drop one.
#pragma once

#include "weft/ops/op.h"

namespace weft {

void add_leaf_ops(OpSet& ops);     // input, variable, constant, iota, dim_value, barriers
void add_control_ops(OpSet& ops);  // call, scan, cond, while_loop
void add_unary_ops(OpSet& ops);    // elementwise, one operand
void add_binary_ops(OpSet& ops);   // elementwise, two operands; comparisons, logical; where
void add_cast_ops(OpSet& ops);
void add_fused_ops(OpSet& ops);   // several elementwise ops in one pass
void add_reduce_ops(OpSet& ops);  // sum, mean, max, ..., argmax, cumsum
void add_recurrence_ops(OpSet& ops);
void add_shape_ops(OpSet& ops);  // reshape, permute, slice, concat, pad, ...
void add_index_ops(OpSet& ops);  // take, scatter_add, one_hot, dynamic_slice, ...
void add_sort_ops(OpSet& ops);   // topk, sort
void add_matmul_ops(OpSet& ops);
void add_matmul_fused_ops(OpSet& ops);  // with elementwise steps on the product
void add_quantized_ops(OpSet& ops);     // dequantize and what it is folded into
void add_quantized_matmul_ops(OpSet& ops);
void add_conv_ops(OpSet& ops);
void add_pool_ops(OpSet& ops);
void add_random_ops(OpSet& ops);   // random_*, dropout, key_*
void add_softmax_ops(OpSet& ops);  // softmax, log_softmax
void add_norm_ops(OpSet& ops);     // layer_norm, rms_norm and their gradients
void add_cross_entropy_ops(OpSet& ops);
void add_linear_cross_entropy_ops(OpSet& ops);  // with the layer before it, in chunks of rows
void add_attention_ops(OpSet& ops);
void add_rope_ops(OpSet& ops);
void add_cholesky_ops(OpSet& ops);  // and require_pivots
void add_triangular_solve_ops(OpSet& ops);
void add_qr_ops(OpSet& ops);
void add_svd_ops(OpSet& ops);

}  // namespace weft
