// Sample inputs for the built-in ops. Programs that need them link this file.
#include "weft/ops/samples.h"

namespace weft {

void add_builtin_samples(OpSamples& all) {
  add_arg_reduce_samples(all);
  add_attention_samples(all);
  add_binary_samples(all);
  add_block_sums_samples(all);
  add_cast_samples(all);
  add_cholesky_samples(all);
  add_collective_samples(all);
  add_conv_samples(all);
  add_cross_entropy_samples(all);
  add_dynamic_slice_samples(all);
  add_offset_samples(all);
  add_fused_samples(all);
  add_index_samples(all);
  add_leaf_samples(all);
  add_linear_cross_entropy_samples(all);
  add_matmul_samples(all);
  add_matmul_fused_samples(all);
  add_norm_samples(all);
  add_pool_samples(all);
  add_qr_samples(all);
  add_quantized_samples(all);
  add_quantized_matmul_samples(all);
  add_random_samples(all);
  add_recurrence_samples(all);
  add_reduce_samples(all);
  add_rope_samples(all);
  add_shape_samples(all);
  add_slice_samples(all);
  add_softmax_samples(all);
  add_sort_samples(all);
  add_svd_samples(all);
  add_triangular_solve_samples(all);
  add_unary_samples(all);
}

}  // namespace weft
