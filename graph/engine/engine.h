// Engine, which runs the unsharded programs of a Session.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/engine/executor.h"
#include "weft/graph/engine/output_pool.h"
#include "weft/graph/engine/plan_cache.h"
#include "weft/graph/engine/profile.h"
#include "weft/graph/engine/results.h"
#include "weft/graph/engine/session_options.h"
#include "weft/graph/engine/variable_store.h"

namespace weft {

/// Compiles, plans and runs programs over the shared store of a Session and a store of its own. The
/// caller ensures that programs belong to the graph and that calls do not overlap. Programs with
/// shards are run by StepRunner (graph/distributed), which divides them into programs without
/// shards.
class Engine {
 public:
  /// Throws ArgumentError if there is no store, or for invalid options.
  Engine(Graph& graph, std::shared_ptr<VariableStore> store, const SessionOptions& options);
  ~Engine() { StoreAccess(*store_).release_writer(this); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  Graph& graph() const { return graph_; }
  const SessionOptions& options() const { return options_; }
  const std::shared_ptr<VariableStore>& store() const { return store_; }
  /// The variables of this Session: caches, random keys (with SessionOptions::own_keys), and, with
  /// several ranks, this rank's partition of the optimizer state.
  VariableStore& own() { return own_; }
  const VariableStore& own() const { return own_; }
  /// Returns the store that contains a variable.
  VariableStore& home(const VariableInfo& info) { return is_own(info) ? own_ : *store_; }
  PlanCache& plans() { return plans_; }
  const PlanCache& plans() const { return plans_; }
  Executor& executor() { return executor_; }
  const Executor& executor() const { return executor_; }
  Profile& profile() { return profile_; }
  void set_profiling(bool on) { profiling_ = on; }

  /// Called with the name of a variable before the first step that reads it.
  using BeforeRead = std::function<void(std::string_view variable)>;
  /// See Session::run(). By default, a run waits for all pending updates of the store before it
  /// starts; if `before_read` is set, it waits for none, and `before_read` must wait instead.
  Results run(const Program& program, const NamedTensors& feeds, const RunOptions& options,
              const BeforeRead& before_read = {});
  /// Returns the plan for these sizes without running anything.
  std::shared_ptr<const Plan> plan(const Program& program, const NamedSizes& feeds,
                                   const RunOptions& options);

  /// Throws ArgumentError unless the streamed outputs have a callback and are not written into
  /// tensors of the caller.
  static void check_streamed(const Program& program, const RunOptions& options);
  /// How variables without a value are initialised.
  StoreAccess::Start start();
  /// Initialises all `variables` that have no value, except caches.
  void initialise(const std::vector<VariableInfo>& variables);
  /// Returns the current value of a variable, which is initialised if it has none.
  Tensor value(std::string_view name);
  /// Makes this Session the writer of the shared store; see StoreAccess::become_writer().
  void become_writer(std::string_view why) { StoreAccess(*store_).become_writer(this, why); }

 private:
  // Output tensors, which are provided by the caller (RunOptions::into) or taken from a pool;
  // undefined for streamed outputs.
  struct Outputs {
    NamedTensors tensors;
    std::vector<char> guarded;
  };
  bool is_own(const VariableInfo& info) const;
  Bindings bind(const CompiledProgram& c, const std::vector<FeedType>& feeds,
                const DimValues& dims) const;
  /// Before the first run of a program, checks its collective ops and initialises its variables.
  /// Returns true if the program has collective ops.
  bool prepare(const std::shared_ptr<const CompiledProgram>& program);
  /// Creates the missing caches and returns their names.
  std::vector<std::string> make_caches(const CompiledProgram& c, const Bindings& bindings);
  Outputs make_outputs(const Plan& plan, const NamedTensors& feeds, const NamedTensors& into);
  /// Packs the weights for which kernels of the plan expect a packed layout, and makes `memory`
  /// point to the copies. The copies live as long as the returned handles.
  std::vector<std::shared_ptr<const Buffer>> pack_weights(
      const Plan& plan, const IdVector<VariableId, std::uint64_t>& versions,
      const IdVector<VariableId, StoreAccess*>& homes, RunMemory& memory);
  void execute(const std::shared_ptr<const Plan>& plan, const NamedTensors& feeds, Outputs& outputs,
               const RunOptions& options, const BeforeRead& before_read);

  Graph& graph_;
  const SessionOptions options_;
  std::shared_ptr<VariableStore> store_;
  VariableStore own_;
  PlanCache plans_;
  Executor executor_;
  OutputPool pool_;
  Profile profile_;
  bool profiling_;
  // The result of prepare() for each program that it has seen.
  std::map<std::weak_ptr<const CompiledProgram>, bool, std::owner_less<>> prepared_;
};

}  // namespace weft
