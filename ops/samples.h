// Samples and error samples of the built-in ops, which are test data. They are defined next to
// their ops, so that they are easily found when an op is changed, but records do not refer to
// them. Only programs that define add_builtin_samples, such as Weft's tests
// (tests/builtin_samples.cc), contain the samples. In all other programs, the linker drops them,
// which saves half a megabyte.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/export.h"
#include "weft/ops/op.h"

namespace weft {

/// A collection of samples for the newest version of each op.
class OpSamples {
 public:
  using Samples = std::vector<OpSample> (*)();
  using Errors = std::vector<OpErrorSample> (*)();
  /// Adds the samples of an op. Throws ArgumentError if the op already has samples.
  void add(std::string_view op, Samples samples, Errors errors = nullptr);
  /// Returns the records of `ops` with their samples. Throws ArgumentError if there are samples of
  /// an op that is not in `ops`.
  OpSet in(const OpSet& ops) const;

 private:
  struct Entry {
    Samples samples;
    Errors errors;
  };
  std::map<std::string, Entry, std::less<>> entries_;
};

/// Must call all functions below. If a program defines this function, builtin_ops() calls it.
WEFT_API [[gnu::weak]] void add_builtin_samples(OpSamples& all);

void add_arg_reduce_samples(OpSamples& all);
void add_attention_samples(OpSamples& all);
void add_binary_samples(OpSamples& all);
void add_block_sums_samples(OpSamples& all);
void add_cast_samples(OpSamples& all);
void add_cholesky_samples(OpSamples& all);
void add_collective_samples(OpSamples& all);
void add_conv_samples(OpSamples& all);
void add_cross_entropy_samples(OpSamples& all);
void add_dynamic_slice_samples(OpSamples& all);
void add_offset_samples(OpSamples& all);
void add_fused_samples(OpSamples& all);
void add_index_samples(OpSamples& all);
void add_leaf_samples(OpSamples& all);
void add_linear_cross_entropy_samples(OpSamples& all);
void add_matmul_samples(OpSamples& all);
void add_matmul_fused_samples(OpSamples& all);
void add_norm_samples(OpSamples& all);
void add_pool_samples(OpSamples& all);
void add_qr_samples(OpSamples& all);
void add_quantized_samples(OpSamples& all);
void add_quantized_matmul_samples(OpSamples& all);
void add_random_samples(OpSamples& all);
void add_recurrence_samples(OpSamples& all);
void add_reduce_samples(OpSamples& all);
void add_rope_samples(OpSamples& all);
void add_shape_samples(OpSamples& all);
void add_slice_samples(OpSamples& all);
void add_softmax_samples(OpSamples& all);
void add_sort_samples(OpSamples& all);
void add_svd_samples(OpSamples& all);
void add_triangular_solve_samples(OpSamples& all);
void add_unary_samples(OpSamples& all);

}  // namespace weft
