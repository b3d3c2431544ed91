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
  /// `stage` must outlive it.
  StageRows(const ShardedProgram::Stage& stage, World world);

  /// The results of the next shard of this rank.
  void add(const Results& results);
  /// After all shards of this rank, of which there is one at least: the rows of all shards of all
  /// ranks, in their order, by input of the parts behind the stage. Every rank sends its own to
  /// every other one. Collective; throws WorldError.
  NamedTensors of_all();

 private:
  std::vector<std::vector<std::int64_t>> counts() const;

  const ShardedProgram::Stage& stage_;
  const World world_;
  std::vector<std::vector<Tensor>> own_;  // by concat of the stage, then by shard of this rank
};

}  // namespace weft
