// Sums over shards that all ranks need.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "weft/graph/run/sum_block.h"

namespace weft {

/// Those of all ranks are added up behind the last shard.
class SharedSums {
 public:
  /// `in_turns`: the ranks' shards are not neighbours (turns_of_rank). `runner` must outlive it.
  SharedSums(const ShardedProgram::Stage& stage, SumNumbers sums, int shards, bool in_turns,
             const PartRunner& runner);

  bool empty() const { return places_.empty(); }
  bool has(std::size_t sum) const { return places_.has(sum); }
  /// A shard is about to run.
  void begin(int shard);
  /// A sum of it.
  void take(std::size_t sum, const Tensor& value);
  /// It has run.
  void end() { stack_.end(); }
  /// After all shards of this rank: the sums of all. Collective.
  NamedTensors totals();

 private:
  const PartRunner& runner_;
  const SumPlaces places_;
  const int shards_;
  const bool in_turns_;
  SumStack stack_;
  // Those of each turn, which have no neighbours on this rank.
  std::vector<std::shared_ptr<Buffer>> turns_;
};

}  // namespace weft
