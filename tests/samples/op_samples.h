// Samples and error samples of the built-in ops.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weft/ops/builtin.h"

namespace weft {

/// A collection of samples for the newest version of each op.
class OpSamples {
 public:
  using Samples = RecordFunction<std::vector<OpSample>()>;
  using Errors = RecordFunction<std::vector<OpErrorSample>()>;
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

// The samples of each family. ControlOps has no samples, because its ops call functions of a graph.
inline void add_samples(ControlOps, OpSamples&) {}
void add_samples(LeafOps, OpSamples& all);
void add_samples(UnaryOps, OpSamples& all);
void add_samples(BinaryOps, OpSamples& all);
void add_samples(CastOps, OpSamples& all);
void add_samples(FusedOps, OpSamples& all);
void add_samples(ReduceOps, OpSamples& all);
void add_samples(RecurrenceOps, OpSamples& all);
void add_samples(ShapeOps, OpSamples& all);
void add_samples(IndexOps, OpSamples& all);
void add_samples(SortOps, OpSamples& all);
void add_samples(MatmulOps, OpSamples& all);
void add_samples(GroupedMatmulOps, OpSamples& all);
void add_samples(MatmulFusedOps, OpSamples& all);
void add_samples(QuantizedOps, OpSamples& all);
void add_samples(QuantizedMatmulOps, OpSamples& all);
void add_samples(QuantizedGroupedOps, OpSamples& all);
void add_samples(IntegerOps, OpSamples& all);
void add_samples(ConvOps, OpSamples& all);
void add_samples(PoolOps, OpSamples& all);
void add_samples(RandomOps, OpSamples& all);
void add_samples(SoftmaxOps, OpSamples& all);
void add_samples(NormOps, OpSamples& all);
void add_samples(CrossEntropyOps, OpSamples& all);
void add_samples(LinearCrossEntropyOps, OpSamples& all);
void add_samples(AttentionOps, OpSamples& all);
void add_samples(RopeOps, OpSamples& all);
void add_samples(CholeskyOps, OpSamples& all);
void add_samples(TriangularSolveOps, OpSamples& all);
void add_samples(QrOps, OpSamples& all);
void add_samples(SvdOps, OpSamples& all);
void add_samples(CollectiveOps, OpSamples& all);

// Parts of the samples of ReduceOps, ShapeOps and IndexOps.
void add_arg_reduce_samples(OpSamples& all);
void add_block_sums_samples(OpSamples& all);
void add_slice_samples(OpSamples& all);
void add_dynamic_slice_samples(OpSamples& all);
void add_tensor_scatter_samples(OpSamples& all);
void add_offset_samples(OpSamples& all);
void add_range_samples(OpSamples& all);

}  // namespace weft
