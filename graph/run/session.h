// Session, which runs programs over a VariableStore.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "weft/core/parallel.h"
#include "weft/core/tensor.h"
#include "weft/core/world/world.h"
#include "weft/graph/distributed/gradient_sums.h"
#include "weft/graph/ir/program.h"
#include "weft/graph/plan/plan.h"
#include "weft/graph/run/profile.h"
#include "weft/graph/run/results.h"
#include "weft/graph/run/variable_store.h"

namespace WEFT_API weft {

class OwnedState;

struct SessionOptions {
  /// Seed of the initial values. The initial value of a variable depends only on this seed, its
  /// declaration and its name.
  std::uint64_t seed = 0;
  /// Number of worker threads; 0 means one per hardware thread. Results do not depend on it.
  int threads = 0;
  /// Number of plans to cache, one per program and set of sizes. The least recently used plan is
  /// evicted first.
  int plan_cache = 16;
  /// If false, graphs run as they were built, without optimisation passes.
  bool passes = true;
  /// Keeps random keys in this Session instead of the store, so that several Sessions can run
  /// programs that draw random numbers over one store without being its writer.
  bool own_keys = false;
  /// If true, parameters and buffers that are missing from the store are initialised even if other
  /// variables were inserted (loaded) into the store. If false, a run throws a StateError that
  /// lists the missing variables with the closest names in the store, because a misnamed weight
  /// would otherwise silently be replaced by random values. See
  /// VariableStore::allow_initialisation() for individual variables.
  bool initialise_missing = false;
  /// Precision of matrix products in programs that do not set a precision.
  Precision precision = Precision::highest;
  /// Maximum size of the arena in bytes; 0 means no limit. The arena holds intermediate results;
  /// variables, feeds and outputs are not part of it. If a plan would need more, it rematerialises
  /// values, with bit-identical results; Session::plan(...)->memory() lists the rematerialised
  /// values. If no plan meets the budget, an ArgumentError names the smallest feasible budget. With
  /// several ranks, see also `gradients`.
  std::size_t memory_budget = 0;
  /// For inference: matrix products read copies of the parameters, packed in the layout of their
  /// kernels, if the program does not update them. The copies are made in the first run and kept in
  /// the store (VariableStore::memory()). This saves packing in every run, but stores the weights a
  /// second time. Results are bit-identical.
  bool prepack = false;
  /// Finds the node that first produced a NaN or an infinity: the run throws a DataError that names
  /// the node, its source line and scope, and the ranges of its operands, and leaves all variables
  /// unchanged. A node is reported if its floating-point operands are all finite but its output is
  /// not, or if it produces a NaN from operands without one. An infinite constant (a mask) is not
  /// an error, but a NaN in a feed or a variable is. Elementwise nodes are not fused, updates are
  /// written at the end, and every value is read an additional time, so this mode is only meant for
  /// debugging.
  bool check_finite = false;
  /// Records the times of nodes from the start; see Session::profile().
  bool profile = false;
  /// The ranks (processes, possibly on several machines) that run sharded programs together, each
  /// with a Session over an identically built graph. By default there is only one rank.
  /// core/mpi/mpi_transport.h connects ranks that MPI started. All ranks run the same programs in
  /// the same order. After a run, each rank has the same parameters and the part of the optimizer
  /// state that it updates (see gather_state()). Results are bit-identical to a run on a single
  /// rank. Before the first run of a program, the ranks compare the program, the seed, the number
  /// of shards, the build of Weft and the instruction set of their kernels; an ArgumentError lists
  /// all differences. If a rank fails, the step fails on all of them with a WorldError that
  /// contains the cause. Unsharded programs run on every rank independently; it is an ArgumentError
  /// if such a program updates more than random keys.
  World world = {};
  /// With several ranks, overlaps communication with computation: gradient sums are sent to their
  /// owners during the last shard, and parameters are sent to all ranks between the step and the
  /// time when the next run reads them. If false, a run returns only when everything has arrived.
  /// Results are bit-identical in both cases.
  bool overlap = true;
  /// Maximum size in bytes of a bucket in which gradient sums are sent; a multiple of 64. Must be
  /// the same on all ranks and does not affect the bits of results.
  std::size_t bucket_bytes = std::size_t{8} << 20;
  /// With several ranks, where gradient sums are stored: `owned` needs less memory but sends more
  /// messages. Must be the same on all ranks and does not affect the bits of results.
  GradientSums gradients = GradientSums::automatic;
  // Test modes.
  /// Verifies every plan before its first run.
#ifdef NDEBUG
  bool verify = false;
#else
  bool verify = true;
#endif
  /// Fills dead memory with NaN and surrounds buffers with guards. If a kernel writes outside its
  /// memory, the run throws a StateError that names the step.
  bool poison = false;
  /// If not 0, chunks run in shuffled order and with small delays.
  std::uint64_t shuffle_seed = 0;

  /// Returns true if only the owners store gradient sums. This depends on `gradients`, the memory
  /// budget and the number of ranks. Throws ArgumentError if `gradients` does not support this
  /// number of ranks.
  bool sums_are_owned() const {
    return weft::sums_are_owned(gradients, memory_budget > 0, world.size());
  }
};

/// Ranks that hold the whole optimizer state after Session::gather_state().
enum class Gather { all, first };

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
  friend const OwnedState& owned_state(Session& session);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
