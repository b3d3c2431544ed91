// StepRun, one step of a sharded program on one rank.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weft/core/function_ref.h"
#include "weft/graph/distributed/stage_sums.h"
#include "weft/graph/distributed/step_runner.h"

namespace weft {

/// Runs the stages of a program for each shard of this rank, and then the step. If the entry has an
/// OwnedStep, this rank runs only its part of the updates.
class StepRun {
 public:
  /// All arguments must outlive this object. `options` apply to the whole step.
  StepRun(StepRunner& runner, SplitCache::Entry& entry, const RunOptions& options);

  /// `feeds` returns the inputs of one shard. It is called once for each shard that this rank
  /// computes, in order. The message of an error in a shard begins with the shard's number, and all
  /// variables are unchanged. If this rank throws, the other ranks wait for it until the caller
  /// poisons the world.
  Results run(FunctionRef<NamedTensors(int shard)> feeds);

 private:
  void set_phase(const std::string& phase) const;
  /// Calls body() for each shard of this rank, with its number and its index `i` on this rank.
  void for_shards(FunctionRef<void(int shard, std::size_t i)> body) const;
  /// Records inputs that exist once per step: scalars (a learning rate, for example) that are fed
  /// to all shards.
  void record_step_inputs(const NamedTensors& fed);
  /// Compares these inputs across ranks, because ranks with different ones would diverge silently.
  void compare_step_inputs() const;
  NamedTensors extra_of(const Program& part) const;
  RunOptions part_options() const;
  Results run_stage(std::size_t stage, const std::vector<std::string>& wanted, int shard,
                    std::size_t i, StageSums& sums);
  /// Returns the statistics of all shards of all ranks, in shard order.
  std::vector<NamedTensors> all_statistics() const;
  void carry_states();
  Results run_step(const Program& step, const RunOptions& options);
  /// Runs this rank's part of the step and starts the exchange of parameters with the other ranks.
  Results run_owned_part();
  Results run_owned_part(ParameterExchange& exchange);
  /// Feeds the variables that partitioned units read in addition to their state. The feeds are the
  /// owned ranges, as views of the whole variables.
  void feed_owned_ranges(const ParameterExchange& exchange);

  StepRunner& runner_;
  SplitCache::Entry& entry_;
  const Program& program_;
  const ShardedProgram& parts_;
  const OwnedStep& owned_;
  const RunOptions& options_;
  const World& world_;
  const SumContext sums_;
  const ShardRun run_;                    // the shards of this rank
  std::map<std::string, Tensor> extra_;   // additional inputs of parts, by name
  std::vector<std::string> step_inputs_;  // inputs of the program that the step reads
  std::map<std::string, Tensor> fed_step_inputs_;
  std::vector<NamedTensors> fed_;         // indexed by shard of this rank; reused by later stages
  std::vector<NamedTensors> statistics_;  // indexed by shard of this rank
};

}  // namespace weft
