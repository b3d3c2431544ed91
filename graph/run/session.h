// Session: runs programs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "weft/core/parallel.h"
#include "weft/core/tensor.h"
#include "weft/core/world/world.h"
#include "weft/graph/distribute/gradient_sums.h"
#include "weft/graph/ir/program.h"
#include "weft/graph/plan/plan.h"
#include "weft/graph/run/profile.h"
#include "weft/graph/run/results.h"
#include "weft/graph/run/variable_store.h"

namespace WEFT_API weft {

class OwnedState;

struct SessionOptions {
  /// Variables start as a function of this and their names.
  std::uint64_t seed = 0;
  /// Workers; 0 means one per hardware thread. Results do not depend on it.
  int threads = 0;
  /// Plans kept, one per program and sizes; the one not used for longest goes first.
  int plan_cache = 16;
  /// False runs graphs as they were built.
  bool passes = true;
  /// Random keys live in this Session and not in the store, so that several Sessions may draw from
  /// one store's programs without being its writer.
  bool own_keys = false;
  /// Parameters and buffers that a store lacks start from their initialisers, although others were
  /// inserted into it (loaded). False: they are a StateError that lists them with the closest names
  /// of the store, since a misnamed weight would else be a random one. See
  /// VariableStore::start_anew() for single names.
  bool start_missing = false;
  /// Accuracy of matrix products in programs that state none themselves.
  Precision precision = Precision::highest;
  /// Most bytes of the arena (intermediate results; variables, feeds and outputs are besides it);
  /// 0 = no limit. Plans that need more drop results and compute them again, with the same bits;
  /// Session::plan(...)->memory() says which. A budget that no plan meets is an ArgumentError that
  /// names the smallest one. With several ranks see `gradients`, too.
  std::size_t memory_budget = 0;
  /// Matrix products with parameters that a program does not update read copies of them in the
  /// order of their kernels, made at the first run and kept in the store (VariableStore::memory()):
  /// for inference, where that saves the packing in every run at the price of the weights' memory
  /// once more. The same bits.
  bool prepack = false;
  /// Looks for the node that first made a NaN or an infinity: a run ends with a DataError that
  /// names it, its line and scope, and the ranges of its operands, and leaves every variable as it
  /// was. Looked at are nodes whose floating operands are all finite and whose output is not, and
  /// nodes that make a NaN of operands without one; an infinite constant (a mask) is no fault, a
  /// NaN that is fed or stored is. Elementwise nodes are not fused, updates are written at the end,
  /// and every value is read once more: for debugging.
  bool check_finite = false;
  /// Records times of nodes from the start; see Session::profile().
  bool profile = false;
  /// The ranks (processes, perhaps on many machines) that run programs with shards together, each
  /// with a Session over a graph that is built alike; core/mpi/mpi_transport.h connects those of
  /// MPI. By default there is one. All ranks run the same programs in the same order, and each is
  /// left with the same parameters and with the part of the optimizer's state that it updates
  /// (gather_state()); the bits are those of one rank alone. Before its first run a program is
  /// compared: an ArgumentError names all in which ranks differ, of the program, the seed, the
  /// number of shards, the build of Weft and what their CPUs compute with. A rank that fails ends
  /// the step on all of them (WorldError, with what it failed for). Programs without shards run on
  /// every rank by itself; those of them that update more than random keys are an ArgumentError.
  World world = {};
  /// With several ranks, what is complete is on its way while the rest is computed: sums of
  /// gradients to their owners during the last shard, parameters to all ranks from the step on
  /// until the next run reads them. Without it a run ends when all has arrived. The same bits.
  bool overlap = true;
  /// Sums of gradients are sent in pieces of at most so many bytes (a multiple of 64). Bits do not
  /// depend on it; all ranks must have the same.
  std::size_t bucket_bytes = std::size_t{8} << 20;
  /// With several ranks, where sums of gradients live: more messages for less memory. All ranks
  /// must have the same. Bits do not depend on it.
  GradientSums gradients = GradientSums::automatic;
  // Test modes.
  /// Verifies every plan before its first run.
#ifdef NDEBUG
  bool verify = false;
#else
  bool verify = true;
#endif
  /// Dead memory is NaN, buffers have guards: a kernel that writes outside is a StateError that
  /// names it.
  bool poison = false;
  /// When not 0, chunks run in shuffled order and with small delays.
  std::uint64_t shuffle_seed = 0;

  /// Whether owners alone have sums of gradients: `gradients`, where that is decided. Throws
  /// ArgumentError where so many ranks cannot do what it says.
  bool sums_are_owned() const {
    return weft::sums_are_owned(gradients, memory_budget > 0, world.size());
  }
};

/// Who has the whole state of an optimizer behind Session::gather_state().
enum class Gather { all, first };

/// Runs programs of one graph over a VariableStore: compiles each once, specialises it per concrete
/// sizes and runs it in one arena. A Session is for one thread at a time: a second one that enters
/// gets a StateError. The graph must outlive the Session and no longer change while several use it.
///
/// Variables start when a program that needs them is first run: a Session that only infers holds no
/// optimizer's moments. Caches belong to the Session, not to the store; their symbolic sizes are
/// bound by the first run that succeeds. All updates of a run happen together or (on an error of
/// the data, a missing feed, a cancelled run) not at all.
class Session {
 public:
  explicit Session(Graph& graph, SessionOptions options = {});
  /// Over a store that others use too. Reading programs of any number of Sessions may run at once,
  /// each sees the variables as they are between two updates. Only one Session may run programs
  /// with updates.
  Session(Graph& graph, std::shared_ptr<VariableStore> store, SessionOptions options = {});
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Runs `program`. Throws
  /// - ArgumentError, DTypeError, ShapeError for feeds that are missing, unknown or do not fit,
  /// - GraphError for a program of another graph or an unknown name to fetch,
  /// - DataError for data that break a precondition (an index out of range), with op, operands and
  ///   line,
  /// - CancelledError if `cancel` said so,
  /// - StateError for a second thread, a second writer or a torn store.
  /// All but the last leave every variable as it was.
  /// A program with shards (Program::shards) is fed the whole batch, which is cut along their axis;
  /// an error in a shard is preceded by its number. It has no values to fetch.
  Results run(const Program& program, const NamedTensors& feeds = {},
              const RunOptions& options = {});
  /// The same for batches that nobody has as a whole: `feeds` gives the inputs of one shard, as if
  /// it were a batch of its own. It is called once for each shard that this rank computes, in
  /// order.
  Results run_shards(const Program& program, const std::function<NamedTensors(int shard)>& feeds,
                     const RunOptions& options = {});

  /// The shards that this rank computes, in order: those that run_shards() asks for. Throws as
  /// run_shards() where the program cannot be taken apart.
  ShardRun shards_of_rank(const Program& program);

  /// The plan for these sizes, without running anything. Of a program with shards: what is run for
  /// a shard with feeds of these sizes (of several stages the last one).
  std::shared_ptr<const Plan> plan(const Program& program, const NamedSizes& feeds = {},
                                   const RunOptions& options = {});

  /// A copy of the value of a variable, by name or alias; it starts now if no run has needed it.
  Tensor value(std::string_view name);
  /// Copies `value` into a variable; its dtype and sizes must fit.
  void set_value(std::string_view name, const Tensor& value);
  /// Gives every variable of the graph that has none its start value. Caches wait for their first
  /// use.
  void initialise();
  /// With a World of several ranks, each has only the part of the optimizer's state that it
  /// updates, from the first run of a program with shards on. This makes it whole in the stores of
  /// all ranks, until the next such run; or it gives rank 0 a copy in its store until then, to be
  /// saved, so that no other rank needs memory for it. All ranks call it (WorldError); with one
  /// rank there is nothing to gather. Then does what initialise() does, which leaves such state to
  /// the first run.
  void gather_state(Gather to = Gather::all);
  /// Drops the caches; the next use makes them anew, perhaps with other sizes.
  void reset_caches();

  Graph& graph() const;
  /// What savers read: snapshots without copying.
  const std::shared_ptr<VariableStore>& store() const;
  const SessionOptions& options() const;

  /// How often a program was compiled, and how often a plan was made.
  std::int64_t compile_count() const;
  std::int64_t specialise_count() const;
  /// Bytes of the arena now: it grows to the largest plan that ran.
  std::size_t arena_bytes() const;
  /// Bytes of the variables that this Session keeps for itself: caches, own keys, and its part of
  /// the optimizer's state where there are several ranks.
  std::size_t own_bytes() const;
  /// Bytes for sums over shards: they grow to what the largest step took.
  std::size_t sum_bytes() const;
  /// Starts or stops recording times.
  void set_profiling(bool on);
  const Profile& profile() const;
  /// Forgets all times.
  void clear_profile();
  /// The workers' counters, for tests of how much ran in parallel.
  Workers::Statistics worker_statistics() const;

 private:
  friend const OwnedState& owned_state(Session& session);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace weft
