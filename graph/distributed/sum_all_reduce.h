// All-reduce of sums over shards that every rank needs.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "weft/graph/distributed/sum_block.h"
#include "weft/graph/engine/results.h"

namespace weft {

/// Accumulates sums on this rank; they are reduced across ranks after the last shard.
class SumAllReduce {
 public:
  /// `context` must outlive this object.
  SumAllReduce(const ShardedProgram::Stage& stage, SumNumbers sums, const SumContext& context);

  bool empty() const { return layout_.empty(); }
  bool has(std::size_t sum) const { return layout_.has(sum); }
  /// Must be called before a shard runs.
  void begin(int shard);
  /// Adds a sum of the running shard.
  void take(std::size_t sum, const Tensor& value);
  /// Must be called after the shard has run.
  void end() { stack_.end(); }
  /// Returns the sums over all ranks. Must be called after all shards of this rank. Collective.
  NamedTensors totals();

 private:
  const SumContext& context_;
  const SumLayout layout_;
  SumStack stack_;
  // With owned sums, the sums of each turn. They are kept separately because the sibling of a
  // shard in the tree is on another rank.
  std::vector<std::shared_ptr<Buffer>> turns_;
};

}  // namespace weft
