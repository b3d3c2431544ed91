#include "weft/ops/builtin.h"

#include "weft/ops/samples.h"

namespace weft {

std::shared_ptr<const OpSet> builtin_ops() {
  static const std::shared_ptr<const OpSet> ops = [] {
    auto set = std::make_shared<OpSet>();
    add_leaf_ops(*set);
    add_control_ops(*set);
    add_unary_ops(*set);
    add_binary_ops(*set);
    add_cast_ops(*set);
    add_fused_ops(*set);
    add_reduce_ops(*set);
    add_recurrence_ops(*set);
    add_shape_ops(*set);
    add_index_ops(*set);
    add_sort_ops(*set);
    add_matmul_ops(*set);
    add_matmul_fused_ops(*set);
    add_quantized_ops(*set);
    add_quantized_matmul_ops(*set);
    add_conv_ops(*set);
    add_pool_ops(*set);
    add_random_ops(*set);
    add_softmax_ops(*set);
    add_norm_ops(*set);
    add_cross_entropy_ops(*set);
    add_linear_cross_entropy_ops(*set);
    add_attention_ops(*set);
    add_rope_ops(*set);
    add_cholesky_ops(*set);
    add_triangular_solve_ops(*set);
    add_qr_ops(*set);
    add_svd_ops(*set);
    add_collective_ops(*set);
    if (add_builtin_samples != nullptr) {  // in test programs only
      OpSamples samples;
      add_builtin_samples(samples);
      *set = samples.in(*set);
    }
    return set;
  }();
  return ops;
}

}  // namespace weft
