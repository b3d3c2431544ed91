// Implementation of Session. session.cc runs unsharded programs, and session_shards.cc runs sharded
// programs.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/floating_point.h"
#include "weft/graph/distributed/owned_state.h"
#include "weft/graph/distributed/parameter_exchange.h"
#include "weft/graph/distributed/split_cache.h"
#include "weft/graph/run/executor.h"
#include "weft/graph/run/output_pool.h"
#include "weft/graph/run/plan_cache.h"
#include "weft/graph/run/session.h"

namespace weft {

/// Marks the Session as in use during the lifetime of this object. Everything that the Session
/// computes during this time, including constants folded by passes, uses the default floating-point
/// environment instead of the caller's.
class Busy {
 public:
  explicit Busy(std::atomic<bool>& flag) : flag_(flag) {
    if (flag_.exchange(true, std::memory_order_acquire)) {
      throw StateError(
          "this Session is in use by another thread, or by the run that invoked this callback; "
          "create one Session per thread over a shared VariableStore");
    }
  }
  ~Busy() { flag_.store(false, std::memory_order_release); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  std::atomic<bool>& flag_;
  DefaultFloatingPoint environment_;
};

/// Returns true if the program runs as a whole, not in shards. This includes programs without
/// outputs and updates, which are rejected when they run.
inline bool is_unsharded(const Program& program) {
  return program.shards().count == 1 || program.graph() == nullptr;
}

struct Session::Impl {
  Impl(Graph& g, std::shared_ptr<VariableStore> s, SessionOptions o)
      : graph(g),
        options(o),
        store(std::move(s)),
        cache({.plans = o.plan_cache,
               .passes = o.passes,
               .verify = o.verify,
               .guard = o.poison ? kGuardBytes : 0,
               .precision = o.precision,
               .memory_budget = o.memory_budget,
               .prepack = o.prepack,
               .check_finite = o.check_finite}),
        split(o.world, o.sums_are_owned()),
        executor({.threads = o.threads,
                  .shuffle_seed = o.shuffle_seed,
                  .poison = o.poison,
                  .check_finite = o.check_finite,
                  .world = o.world}),
        profiling(o.profile) {
    if (store == nullptr) throw ArgumentError("a Session needs a VariableStore; this one is null");
    if (o.plan_cache < 1) {
      throw ArgumentError(fmt::format("plan_cache is {}; it must be at least 1", o.plan_cache));
    }
    if (o.bucket_bytes == 0 || o.bucket_bytes % 64 != 0) {
      throw ArgumentError(
          fmt::format("bucket_bytes is {}; it must be a positive multiple of 64", o.bucket_bytes));
    }
  }

  Graph& graph;
  const SessionOptions options;
  std::shared_ptr<VariableStore> store;
  // Caches, random keys with own_keys, and this rank's part of the partitioned optimizer state.
  VariableStore own;
  OwnedState owned{own};
  PlanCache cache;
  SplitCache split;
  OutputPool sums;  // memory for sums over shards
  bool running_shards = false;
  // The parameter exchange of the current run, and the exchange of the previous step until
  // everything has arrived.
  std::shared_ptr<ParameterExchange> sending, pending;
  Executor executor;
  OutputPool pool;
  Profile profile;
  bool profiling;
  std::atomic<bool> busy{false};
  // Programs whose variables have been initialised.
  std::set<std::weak_ptr<const CompiledProgram>, std::owner_less<>> started;
  // Programs with collective ops on which the ranks have agreed.
  std::set<std::weak_ptr<const CompiledProgram>, std::owner_less<>> agreed;

  VariableStore& home(const VariableInfo& info) {
    const bool mine = info.kind == VariableKind::cache ||
                      (info.kind == VariableKind::key && options.own_keys) ||
                      owned.contains(info.name);
    return mine ? own : *store;
  }

  StoreAccess::Start start() {
    return {.seed = options.seed,
            .workers = &executor.workers(),
            .missing = options.initialise_missing,
            .graph = &graph};
  }

  // Initialises all `variables` that have no value, except caches.
  void initialise_variables(const std::vector<VariableInfo>& variables) {
    std::vector<StoreAccess::Wanted> shared, mine;
    for (const VariableInfo& info : variables) {
      if (info.kind == VariableKind::cache) continue;
      (&home(info) == &own ? mine : shared).push_back({info, variable_sizes(info, {})});
    }
    StoreAccess(*store).ensure(shared, start());
    StoreAccess(own).ensure(mine, start());
  }

  void initialise_variables(const std::shared_ptr<const CompiledProgram>& program) {
    if (started.contains(program)) return;
    std::vector<VariableInfo> variables;
    for (const auto& use : program->variables) variables.push_back(use.info);
    initialise_variables(variables);
    std::erase_if(started, [](const auto& p) { return p.expired(); });
    started.insert(program);
  }

  void initialise_all() {
    std::vector<VariableInfo> variables;
    for (const Variable& v : graph.variables()) {
      // With several ranks, each rank holds only its part of the optimizer state after the first
      // step.
      const bool later = options.world.size() > 1 && v.info().kind == VariableKind::optimizer;
      if (!later) variables.push_back(v.info());
    }
    initialise_variables(variables);
  }

  void check_not_partitioned(std::string_view name) const {
    if (!owned.contains(name)) return;
    throw StateError(fmt::format(
        "variable '{}' is partitioned: each of the {} ranks holds the part that it updates; call "
        "Session::gather_state() on all ranks to restore the complete variable",
        name, options.world.size()));
  }

  void check_graph(const Program& program) const {
    if (program.graph() != nullptr && program.graph() != &graph) {
      throw GraphError(
          fmt::format("program '{}' and this Session belong to different graphs", program.name()));
    }
  }

  static void check_streamed(const Program& program, const RunOptions& o);
  std::shared_ptr<const Plan> plan(const Program& program, const NamedSizes& feeds,
                                   const RunOptions& o) {
    const auto c = cache.compiled(program, o.fetch, o.streamed);
    std::vector<FeedType> types;
    for (const auto& [name, sizes] : feeds) types.push_back({name, std::nullopt, sizes});
    return cache.plan(c, bind(*c, types, o.dims));
  }

  Bindings bind(const CompiledProgram& c, const std::vector<FeedType>& feeds,
                const DimValues& dims) {
    std::vector<std::pair<VariableId, Sizes>> existing;
    for (const VariableId v : c.variables.ids()) {
      const VariableInfo& info = c.variables[v].info;
      if (info.kind == VariableKind::cache && own.contains(info.name)) {
        existing.emplace_back(v, own.tensor(info.name).sizes());
      }
    }
    return bind_symbols(c, feeds, dims, existing);
  }

  /// Creates the missing caches and returns their names.
  std::vector<std::string> make_caches(const CompiledProgram& c, const Bindings& bindings) {
    std::vector<StoreAccess::Wanted> caches;
    for (const auto& use : c.variables) {
      if (use.info.kind == VariableKind::cache && !own.contains(use.info.name))
        caches.push_back({use.info, variable_sizes(use.info, bindings)});
    }
    return StoreAccess(own).ensure(caches, start());
  }

  // Output tensors, which are provided by the caller (RunOptions::into) or taken from a pool;
  // undefined for streamed outputs.
  struct Outputs {
    NamedTensors tensors;
    std::vector<char> guarded;
  };
  Outputs make_outputs(const Plan& plan, const NamedTensors& feeds, const NamedTensors& into);

  /// Packs the weights for which kernels of the plan expect a packed layout, and makes `memory`
  /// point to the copies. The copies live as long as the returned handles.
  std::vector<std::shared_ptr<const Buffer>> pack_weights(
      const Plan& plan, const IdVector<VariableId, std::uint64_t>& versions, RunMemory& memory);

  void reject_unsharded_updates(const Program& program, const CompiledProgram& c);
  /// Returns true if the program has collective ops. The ranks compare such a program before its
  /// first run. Throws StateError if the ops were built for a different number of ranks.
  bool agree_on_collectives(const Program& program,
                            const std::shared_ptr<const CompiledProgram>& c);
  Results run(const Program& program, const NamedTensors& feeds, const RunOptions& o);
  void gather_state(Gather to);
  void wait_for_parameters();
  void wait_for_parameters_on_error(FunctionRef<void()> body);
  /// Initialises all variables that are not partitioned.
  void initialise_unpartitioned();
  /// Returns the sums of a stage, in the order in which rank 0 completes them. Collective.
  std::vector<std::size_t> order_of_sums(const Program& stage, const NamedTensors& feeds,
                                         const RunOptions& o);
  /// Returns the plan of a shard's last stage, or of the step if the program has no stages.
  std::shared_ptr<const Plan> plan_sharded(const Program& program, const NamedSizes& feeds,
                                           const RunOptions& o);
  Results run_sharded(const Program& program, FunctionRef<NamedTensors(int shard)> feeds,
                      const RunOptions& o);
  void execute(const std::shared_ptr<const Plan>& plan, const NamedTensors& feeds, Outputs& outputs,
               const RunOptions& o);
};

}  // namespace weft
