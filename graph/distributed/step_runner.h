// StepRunner, which runs the programs of a Session on several ranks or in several shards.
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "weft/core/function_ref.h"
#include "weft/core/world/world.h"
#include "weft/graph/distributed/owned_state.h"
#include "weft/graph/distributed/parameter_exchange.h"
#include "weft/graph/distributed/split_cache.h"
#include "weft/graph/distributed/sum_context.h"
#include "weft/graph/engine/engine.h"

namespace weft {

/// Runs programs with shards, and programs without shards if there are several ranks. It divides a
/// sharded program into parts, which the Engine of the Session runs, and exchanges data with the
/// other ranks. Session documents the behaviour of the functions.
class StepRunner {
 public:
  /// Throws ArgumentError for invalid options of distributed runs.
  explicit StepRunner(Engine& engine);

  /// Runs one step of a sharded program. `feeds` returns the inputs of one shard. It is called once
  /// for each shard that this rank computes, in order.
  Results run(const Program& program, FunctionRef<NamedTensors(int shard)> feeds,
              const RunOptions& options);
  /// Runs a program without shards on this rank. If it has collective ops, all ranks compare and
  /// run it together. Throws ArgumentError if it updates more of the shared store than random keys,
  /// and StateError if it uses a partitioned variable.
  Results run_unsharded(const Program& program, const NamedTensors& feeds,
                        const RunOptions& options);
  /// Returns the plan of a shard's last stage, or of the step if the program has no stages.
  std::shared_ptr<const Plan> plan(const Program& program, const NamedSizes& feeds,
                                   const RunOptions& options);
  ShardRun shards_of_rank(const Program& program);
  void gather_state(Gather to);
  /// Initialises all variables that are not partitioned and have no value.
  void initialise();
  const OwnedState& owned_state() const { return owned_; }
  /// Throws StateError if the variable is partitioned across ranks.
  void check_not_partitioned(std::string_view name) const;
  std::size_t sum_bytes() const { return sum_memory_.bytes(); }

  // The functions below are used by StepRun.

  Engine& engine() { return engine_; }
  const World& world() const { return world_; }
  SumContext sum_context(const SplitCache::Entry& entry);
  /// Runs a part of a program. Before the first step that reads a parameter, waits until the
  /// parameter has arrived from the rank that updated it.
  Results run_part(const Program& part, const NamedTensors& feeds, const RunOptions& options);
  /// Returns the indices of the sums of a stage, in the order in which a run of the stage with
  /// `options` completes them on rank 0. The first call for a stage is collective.
  const std::vector<std::size_t>& order_of_sums(SplitCache::Entry& entry, std::size_t stage,
                                                const NamedTensors& feeds,
                                                const RunOptions& options);
  /// Waits until the parameters of the previous step have arrived.
  void wait_for_parameters();
  /// Partitions the optimizer state of `step` if it is not partitioned yet.
  void partition_state(const OwnedStep& step);
  /// Starts the exchange of the parameters that `step` updates.
  std::shared_ptr<ParameterExchange> exchange_parameters(const Program& program,
                                                         const OwnedStep& step);
  /// Calls body(). If body() throws, waits until the parameters of the previous step, which other
  /// ranks have already sent, have arrived, and then aborts all ranks.
  void poison_on_error(const RunOptions& options, FunctionRef<void()> body);

 private:
  /// Returns true if the program has collective ops. The ranks compare such a program before its
  /// first run.
  bool agree_on_collectives(const Program& program,
                            const std::shared_ptr<const CompiledProgram>& compiled);
  void reject_updates(const Program& program, const CompiledProgram& compiled);

  Engine& engine_;
  const World world_;
  OwnedState owned_;
  SplitCache split_;
  SumPool sum_memory_;
  // The parameter exchange of the current run, and the exchange of the previous step until
  // everything has arrived. At most one of them is set while a part runs.
  std::shared_ptr<ParameterExchange> sending_, pending_;
  // Unsharded programs that have run, and whether they have collective ops, on which the ranks have
  // then agreed.
  std::map<std::weak_ptr<const CompiledProgram>, bool, std::owner_less<>> collective_;
};

}  // namespace weft
