// Rows that every shard of all ranks gives, joined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/core/world/world.h"
#include "weft/graph/distribute/split_shards.h"
#include "weft/graph/run/results.h"

namespace WEFT_API weft {

/// What a stage of a program with shards gives for shard_concat().
class StageRows {
 public:
  /// `stage` must outlive it. `in_turns`: the ranks' shards are not neighbours (turns_of_rank).
  StageRows(const ShardedProgram::Stage& stage, World world, int shards, bool in_turns);

  /// The results of the next shard of this rank.
  void add(const Results& results);
  /// After all shards of this rank, of which there is one at least: the rows of all shards of all
  /// ranks, in their order, by input of the parts behind the stage. Every rank sends its own to
  /// every other one. Collective; throws WorldError.
  NamedTensors of_all();

 private:
  using Counts = std::vector<std::int64_t>;  // of rows, by shard
  std::vector<Counts> counts() const;
  void send_own(std::size_t concat, const Counts& rows, Tensor& by_rank);
  Tensor in_order_of_shards(const Tensor& by_rank, const Counts& rows) const;

  const ShardedProgram::Stage& stage_;
  const World world_;
  std::vector<std::vector<int>> shards_;  // by rank
  bool sorted_ = true;                    // one rank's shards are behind those of the one before
  std::vector<std::vector<Tensor>> own_;  // by concat of the stage, then by shard of this rank
};

}  // namespace weft
