// The families of built-in ops. Each function adds the records of its family to an OpSet.
// builtin.cc lists all families, so that the linker cannot drop any of them. A program that must be
// small lists only the families that it uses.
#pragma once

#include <initializer_list>
#include <memory>

#include "weft/ops/op.h"

namespace WEFT_API weft {

/// Returns an op set that consists of only these families and add_leaf_ops:
///   Graph g(op_set({add_matmul_ops, add_softmax_ops}));
/// A statically linked program that uses no other op set contains only the kernels of these
/// families and is half as large. (Gradients use all built-in ops, as do graph texts and files that
/// are read without an op set.) Using any other op throws ArgumentError with the source line of the
/// use. Passes do not create ops outside the set. Elementwise ops are fused if add_fused_ops is in
/// the list.
std::shared_ptr<const OpSet> op_set(std::initializer_list<void (*)(OpSet&)> families);

/// Returns builtin_ops(), or null in a program that links only custom op sets. The library itself
/// calls this function instead of builtin_ops(), so that not every program has to link all kernels.
std::shared_ptr<const OpSet> builtin_ops_if_linked();

void add_leaf_ops(OpSet& ops);     // input, variable, constant, iota, dim_value, barriers
void add_control_ops(OpSet& ops);  // call, scan, cond, while_loop
void add_unary_ops(OpSet& ops);    // elementwise ops with one operand
// Elementwise ops with two operands, comparisons, logical ops, where.
void add_binary_ops(OpSet& ops);
void add_cast_ops(OpSet& ops);
void add_fused_ops(OpSet& ops);   // several elementwise ops in one pass over memory
void add_reduce_ops(OpSet& ops);  // sum, mean, max, ..., argmax, cumsum
void add_recurrence_ops(OpSet& ops);
void add_shape_ops(OpSet& ops);  // reshape, permute, slice, concat, pad, ...
void add_index_ops(OpSet& ops);  // take, scatter_add, one_hot, dynamic_slice, ...
void add_sort_ops(OpSet& ops);   // topk, sort
void add_matmul_ops(OpSet& ops);
void add_matmul_fused_ops(OpSet& ops);  // matmul with an elementwise epilogue
void add_quantized_ops(OpSet& ops);     // dequantize and the ops into which it is folded
void add_quantized_matmul_ops(OpSet& ops);
void add_conv_ops(OpSet& ops);
void add_pool_ops(OpSet& ops);
void add_random_ops(OpSet& ops);   // random_*, dropout, key_*
void add_softmax_ops(OpSet& ops);  // softmax, log_softmax
void add_norm_ops(OpSet& ops);     // layer_norm, rms_norm and their gradients
void add_cross_entropy_ops(OpSet& ops);
// Cross-entropy fused with the output layer, computed in chunks of rows.
void add_linear_cross_entropy_ops(OpSet& ops);
void add_attention_ops(OpSet& ops);
void add_rope_ops(OpSet& ops);
void add_cholesky_ops(OpSet& ops);  // cholesky, require_pivots
void add_triangular_solve_ops(OpSet& ops);
void add_qr_ops(OpSet& ops);
void add_svd_ops(OpSet& ops);
void add_collective_ops(OpSet& ops);  // all_reduce, all_gather, ... between ranks

}  // namespace weft
