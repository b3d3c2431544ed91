// Gathers the rows that all shards of all ranks compute (shard_concat()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/core/world/world.h"
#include "weft/graph/distributed/split_shards.h"
#include "weft/graph/engine/results.h"

namespace WEFT_API weft {

/// The operands of shard_concat() that one stage of a sharded program computes.
class StageRows {
 public:
  /// `stage` must outlive this object. `in_turns` is true if the shards of a rank are not
  /// contiguous (see interleaved_shards()).
  StageRows(const ShardedProgram::Stage& stage, World world, int shards, bool in_turns);

  /// Adds the results of the next shard of this rank.
  void add(const Results& results);
  /// Returns the rows of all shards of all ranks, in shard order, named as inputs of later parts.
  /// Must be called after all shards of this rank, and each rank must have at least one shard.
  /// Every rank sends its own rows to every other rank. Collective; throws WorldError.
  NamedTensors gather_all();

 private:
  using Counts = std::vector<std::int64_t>;  // number of rows of each shard
  std::vector<Counts> counts() const;
  void send_own(std::size_t concat, const Counts& rows, Tensor& by_rank);
  Tensor in_order_of_shards(const Tensor& by_rank, const Counts& rows) const;

  const ShardedProgram::Stage& stage_;
  const World world_;
  std::vector<std::vector<int>> shards_;  // shards of each rank
  bool sorted_ = true;                    // true if rank order is shard order
  std::vector<std::vector<Tensor>> own_;  // indexed by concat, then by shard of this rank
};

}  // namespace weft
