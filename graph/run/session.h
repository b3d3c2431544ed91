// Session, which runs programs over a VariableStore.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "weft/core/parallel.h"
#include "weft/core/tensor.h"
#include "weft/core/world/gradient_sums.h"
#include "weft/graph/engine/profile.h"
#include "weft/graph/engine/results.h"
#include "weft/graph/engine/session_options.h"
#include "weft/graph/engine/variable_store.h"
#include "weft/graph/ir/program.h"
#include "weft/graph/plan/plan.h"

namespace WEFT_API weft {

class OwnedState;

/// Runs programs of one graph over a VariableStore: compiles each program once, specialises it for
/// each set of concrete sizes, and runs it in one arena. A Session may be used by one thread at a
/// time; calls from a second thread throw StateError. The graph must outlive the Session, and must
/// not change while several Sessions use it.
///
/// Variables are initialised when a program that needs them first runs, so a Session that is only
/// used for inference has no optimizer moments. Caches belong to the Session, not to the store; the
/// first successful run binds their symbolic sizes. The updates of a run are all applied together,
/// or not at all if the run is cancelled, or fails because of its data or a missing feed.
class Session {
 public:
  explicit Session(Graph& graph, SessionOptions options = {});
  /// Uses a store that is shared with other Sessions. Any number of Sessions may run read-only
  /// programs at the same time; each run reads a consistent state of the variables, between two
  /// updates. Only one Session may run programs with updates.
  Session(Graph& graph, std::shared_ptr<VariableStore> store, SessionOptions options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs `program`. Throws
  /// - ArgumentError, DTypeError or ShapeError for feeds that are missing, unknown or of the wrong
  ///   type,
  /// - GraphError for a program of another graph, or an unknown name in RunOptions::fetch,
  /// - DataError for data that violate a precondition (an index out of range), with op, operands
  ///   and source line,
  /// - CancelledError if RunOptions::cancel returned true,
  /// - StateError if another thread uses the Session, or if the store has another writer or is
  ///   torn. All of these errors, except for a torn store, leave all variables unchanged.
  /// If the program has shards (Program::shards), `feeds` is the whole batch, which is split along
  /// Shards::axis. The message of an error in a shard begins with the shard's number. Values of
  /// sharded programs cannot be fetched.
  Results run(const Program& program, const NamedTensors& feeds = {},
              const RunOptions& options = {});
  /// Runs a program on data-parallel input that no rank holds as a whole. `feeds(shard)` supplies
  /// the inputs of one shard, in the form of a complete batch. It is called once for each shard
  /// that this rank computes, in order.
  Results run_shards(const Program& program, const std::function<NamedTensors(int shard)>& feeds,
                     const RunOptions& options = {});

  /// Returns the shards that this rank computes, in the order in which run_shards() requests them.
  /// Throws like run_shards() if the program cannot be split.
  ShardRun shards_of_rank(const Program& program);

  /// Returns the plan for these sizes without running anything. For a sharded program, returns the
  /// plan of one shard with feeds of these sizes (the plan of the last stage, if there are several
  /// stages).
  std::shared_ptr<const Plan> plan(const Program& program, const NamedSizes& feeds = {},
                                   const RunOptions& options = {});

  /// Returns a copy of the value of a variable, by name or alias. Initialises the variable if it
  /// has no value yet.
  Tensor value(std::string_view name);
  /// Copies `value` into a variable, whose dtype and sizes must match.
  void set_value(std::string_view name, const Tensor& value);
  /// Initialises every variable of the graph that has no value yet, except caches, which are
  /// created at their first use, and, with several ranks, optimizer state, which is initialised by
  /// the first run.
  void initialise();
  /// Gathers the optimizer state. With a World of several ranks, each rank holds only the part of
  /// the optimizer state that it updates after the first run of a sharded program. Gather::all
  /// restores the complete state in the stores of all ranks until the next such run. Gather::first
  /// copies the complete state to the store of rank 0 only, for the same time, so that it can be
  /// saved without using memory on the other ranks. Collective (throws WorldError); with a single
  /// rank there is nothing to gather. Afterwards, initialises all other variables that have no
  /// value, including optimizer state that initialise() would leave uninitialised.
  void gather_state(Gather to = Gather::all);
  /// Returns the partitioning of the optimizer state and this rank's pieces
  /// (graph/distributed/owned_state.h), for saving. The result is valid until the next run. Like
  /// gather_state(), initialises all other variables that have no value. Does not communicate.
  const OwnedState& owned_state();
  /// Drops the caches. Their next use creates them again, possibly with different sizes.
  void reset_caches();

  Graph& graph() const;
  /// Returns the store, which provides snapshots for saving without copying.
  const std::shared_ptr<VariableStore>& store() const;
  const SessionOptions& options() const;

  /// Return the number of compilations and of plans made so far.
  std::int64_t compile_count() const;
  std::int64_t specialise_count() const;
  /// Returns the current size of the arena in bytes. The arena is as large as the largest plan that
  /// has run.
  std::size_t arena_bytes() const;
  /// Returns the size in bytes of the variables stored in this Session: caches, random keys (with
  /// `own_keys`) and, with several ranks, this rank's part of the optimizer state.
  std::size_t own_bytes() const;
  /// Returns the total size in bytes of the buffers that accumulate sums over shards. They grow to
  /// fit the largest step.
  std::size_t sum_bytes() const;
  /// Starts or stops recording the times of nodes.
  void set_profiling(bool on);
  const Profile& profile() const;
  /// Discards all recorded times.
  void clear_profile();
  /// Returns the counters of the workers, for tests of parallelism.
  Workers::Statistics worker_statistics() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
