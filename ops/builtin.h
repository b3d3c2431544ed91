// The families of built-in ops: each adds its records to an OpSet. builtin.cc lists all of them, so
// that no linker can drop one; a program that shall be small lists its own.
#pragma once

#include <initializer_list>
#include <memory>

#include "weft/ops/op.h"

namespace WEFT_API weft {

/// These families of ops only, and add_leaf_ops:
///   Graph g(op_set({add_matmul_ops, add_softmax_ops}));
/// A statically linked program that asks for no other set has the kernels of these alone, and is
/// half as large. (Gradients ask for all ops, as do texts and files that are read without a set.)
/// Other ops are an ArgumentError at the line that asks for them; passes make none. Elementwise ops
/// are fused where add_fused_ops is there.
std::shared_ptr<const OpSet> op_set(std::initializer_list<void (*)(OpSet&)> families);

/// builtin_ops(), or null in a program that has only sets of its own: what the library itself asks
/// for, so that it does not bring all kernels along.
std::shared_ptr<const OpSet> builtin_ops_if_linked();

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
void add_collective_ops(OpSet& ops);  // all_reduce, all_gather, ... of several ranks

}  // namespace weft
