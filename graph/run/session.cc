#include "weft/graph/run/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <optional>
#include <set>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/core/floating_point.h"
#include "weft/core/world/shard_tree.h"
#include "weft/graph/run/agree.h"
#include "weft/graph/run/executor.h"
#include "weft/graph/run/output_pool.h"
#include "weft/graph/run/owned_state.h"
#include "weft/graph/run/plan_cache.h"
#include "weft/graph/run/shard_runner.h"
#include "weft/graph/run/split_cache.h"

namespace weft {
namespace {

// Marks the Session as in use for as long as it lives. Everything that the Session computes then,
// including constants that passes fold, is computed in the default floating-point environment,
// whatever the caller's is.
class Busy {
 public:
  explicit Busy(std::atomic<bool>& flag) : flag_(flag) {
    if (flag_.exchange(true, std::memory_order_acquire)) {
      throw StateError(
          "this Session is in use by another thread (or by the run that called back); make one "
          "Session per thread over a shared VariableStore");
    }
  }
  ~Busy() { flag_.store(false, std::memory_order_release); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  std::atomic<bool>& flag_;
  DefaultFloatingPoint environment_;
};

// True while it lives.
class SetForScope {
 public:
  explicit SetForScope(bool& flag) : flag_(flag) { flag_ = true; }
  ~SetForScope() { flag_ = false; }
  SetForScope(const SetForScope&) = delete;
  SetForScope& operator=(const SetForScope&) = delete;

 private:
  bool& flag_;
};

bool overlap(const Tensor& a, const Tensor& b) {
  return a.bytes() > 0 && b.bytes() > 0 && a.raw() < b.raw() + b.bytes() &&
         b.raw() < a.raw() + a.bytes();
}

// Why a program needs the role of the writer.
std::string why_writer(const CompiledProgram& c, const VariableInfo& written) {
  if (written.kind == VariableKind::key) {
    return fmt::format(
        "program '{}' draws random numbers, which advances the key '{}' of the store; with "
        "SessionOptions::own_keys this Session has keys of its own and only reads",
        c.name, written.name);
  }
  return fmt::format("program '{}' updates '{}'", c.name, written.name);
}

// A program without outputs and updates is run whole, too, to be refused there.
bool is_whole(const Program& program) {
  return program.shards().count == 1 || program.graph() == nullptr;
}

void refuse_fetch(const Program& program, const RunOptions& o) {
  if (o.fetch.empty()) return;
  throw ArgumentError(fmt::format(
      "program '{}' has {} shards, and so has a value that is fetched; make it an output, as a sum "
      "or mean over the shards",
      program.name(), program.shards().count));
}

}  // namespace

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
        executor({.threads = o.threads,
                  .shuffle_seed = o.shuffle_seed,
                  .poison = o.poison,
                  .check_finite = o.check_finite}),
        profiling(o.profile) {
    if (store == nullptr) throw ArgumentError("a Session needs a VariableStore; this one is null");
    if (o.plan_cache < 1) {
      throw ArgumentError(fmt::format("plan_cache is {}; it must be at least 1", o.plan_cache));
    }
    if (o.bucket_bytes == 0 || o.bucket_bytes % 64 != 0) {
      throw ArgumentError(
          fmt::format("bucket_bytes is {}; it must be a multiple of 64 above 0", o.bucket_bytes));
    }
  }

  Graph& graph;
  const SessionOptions options;
  std::shared_ptr<VariableStore> store;
  VariableStore own;  // caches, keys with own_keys, and this rank's part of owned state
  OwnedState owned{own};
  PlanCache cache;
  SplitCache split;
  OutputPool sums;  // memory for sums over shards
  bool running_shards = false;
  Executor executor;
  OutputPool pool;
  Profile profile;
  bool profiling;
  std::atomic<bool> busy{false};
  // Programs whose variables have started.
  std::set<std::weak_ptr<const CompiledProgram>, std::owner_less<>> started;

  VariableStore& home(const VariableInfo& info) {
    const bool mine = info.kind == VariableKind::cache ||
                      (info.kind == VariableKind::key && options.own_keys) ||
                      owned.contains(info.name);
    return mine ? own : *store;
  }

  StoreAccess::Start start() {
    return {.seed = options.seed,
            .workers = &executor.workers(),
            .missing = options.start_missing,
            .graph = &graph};
  }

  // Gives those of `variables` that have no value their start values, except caches.
  void start_variables(const std::vector<VariableInfo>& variables) {
    std::vector<StoreAccess::Wanted> shared, mine;
    for (const VariableInfo& info : variables) {
      if (info.kind == VariableKind::cache) continue;
      (&home(info) == &own ? mine : shared).push_back({info, variable_sizes(info, {})});
    }
    StoreAccess(*store).ensure(shared, start());
    StoreAccess(own).ensure(mine, start());
  }

  void start_variables(const std::shared_ptr<const CompiledProgram>& program) {
    if (started.contains(program)) return;
    std::vector<VariableInfo> variables;
    for (const auto& use : program->variables) variables.push_back(use.info);
    start_variables(variables);
    std::erase_if(started, [](const auto& p) { return p.expired(); });
    started.insert(program);
  }

  void start_all() {
    std::vector<VariableInfo> variables;
    for (const Variable& v : graph.variables()) {
      // Ranks that train together have a part of it each, from the first step on.
      const bool later = options.world.size() > 1 && v.info().kind == VariableKind::optimizer;
      if (!later) variables.push_back(v.info());
    }
    start_variables(variables);
  }

  void check_not_cut(std::string_view name) const {
    if (!owned.contains(name)) return;
    throw StateError(fmt::format(
        "variable '{}' is cut: each of the {} ranks has the part of it that it updates; "
        "Session::gather_state(), called on all ranks, makes it whole",
        name, options.world.size()));
  }

  void check_graph(const Program& program) const {
    if (program.graph() != nullptr && program.graph() != &graph) {
      throw GraphError(
          fmt::format("program '{}' is over another graph than this Session's", program.name()));
    }
  }

  std::shared_ptr<const Plan> plan(const Program& program, const NamedSizes& feeds,
                                   const DimValues& dims, const std::vector<std::string>& fetch) {
    const auto c = cache.compiled(program, fetch);
    std::vector<FeedType> types;
    for (const auto& [name, sizes] : feeds) types.push_back({name, std::nullopt, sizes});
    return cache.plan(c, bind(*c, types, dims));
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

  /// Returns the names of the caches that were not there before.
  std::vector<std::string> make_caches(const CompiledProgram& c, const Bindings& bindings) {
    std::vector<StoreAccess::Wanted> caches;
    for (const auto& use : c.variables) {
      if (use.info.kind == VariableKind::cache && !own.contains(use.info.name))
        caches.push_back({use.info, variable_sizes(use.info, bindings)});
    }
    return StoreAccess(own).ensure(caches, start());
  }

  // The tensors of the outputs: the caller's, or ours.
  struct Outputs {
    NamedTensors tensors;
    std::vector<char> guarded;
  };
  Outputs make_outputs(const Plan& plan, const NamedTensors& feeds, const NamedTensors& into);

  /// The copies that the plan's kernels read, alive as long as what is returned.
  std::vector<std::shared_ptr<const Buffer>> pack_weights(
      const Plan& plan, const IdVector<VariableId, std::uint64_t>& versions, RunMemory& memory);

  void refuse_unshared(const Program& program, const CompiledProgram& c);
  Results run(const Program& program, const NamedTensors& feeds, const RunOptions& o);
  void gather_state(Gather to = Gather::all) {
    options.world.or_poison([&] {
      if (to == Gather::all) {
        owned.gather(options.world, *store);
      } else {
        owned.copy_to_first(options.world, *store);
      }
    });
  }
  Results run_sharded(const Program& program, FunctionRef<NamedTensors(int shard)> feeds,
                      const RunOptions& o);
  void execute(const std::shared_ptr<const Plan>& plan, const NamedTensors& feeds, Outputs& outputs,
               const RunOptions& o);
};

Session::Impl::Outputs Session::Impl::make_outputs(const Plan& plan, const NamedTensors& feeds,
                                                   const NamedTensors& into) {
  Outputs result;
  const std::size_t margin = options.poison ? kGuardBytes : 0;
  std::size_t bytes = 0;
  for (const PlanOutput& output : plan.outputs) {
    bytes += plan.values[output.value].bytes + 2 * margin;
  }
  pool.begin_run(bytes);
  for (const PlanOutput& output : plan.outputs) {
    const PlanValue& v = plan.values[output.value];
    const auto given = std::find_if(into.begin(), into.end(),
                                    [&](const auto& entry) { return entry.first == output.name; });
    Tensor tensor;
    if (given != into.end()) {
      tensor = given->second;
      if (!tensor.defined() || tensor.dtype() != v.dtype || tensor.sizes() != v.sizes) {
        throw ShapeError(
            fmt::format("output '{}' is {}{}, but the tensor to write into is {}", output.name,
                        dtype_name(v.dtype), to_string(v.sizes),
                        tensor.defined() ? tensor.type_str() : std::string("undefined")));
      }
    } else {
      tensor = Tensor::view(v.dtype, v.sizes, pool.take(v.bytes + 2 * margin), margin);
    }
    result.guarded.push_back(options.poison && given == into.end());
    result.tensors.emplace_back(output.name, std::move(tensor));
  }
  for (const auto& [name, tensor] : into) {
    const auto is_name = [&, n = std::string_view(name)](const auto& entry) {
      return entry.first == n;
    };
    if (std::none_of(result.tensors.begin(), result.tensors.end(), is_name)) {
      std::vector<std::string> names;
      for (const auto& [known, output] : result.tensors) names.push_back(known);
      throw ArgumentError(fmt::format("program '{}' has no output '{}' to write into{}; it has: {}",
                                      plan.program->name, name, did_you_mean(name, names),
                                      list_names(names)));
    }
    for (const auto& [feed, fed] : feeds) {
      if (overlap(tensor, fed)) {
        throw ArgumentError(fmt::format(
            "the tensor to write output '{}' into overlaps the one fed as '{}'", name, feed));
      }
    }
    for (const auto& [other, written] : into) {
      if (&written == &tensor) continue;
      if (name == other) {
        throw ArgumentError(fmt::format("output '{}' was given two tensors to write into", name));
      }
      if (overlap(tensor, written)) {
        throw ArgumentError(
            fmt::format("the tensors to write outputs '{}' and '{}' into overlap", name, other));
      }
    }
  }
  return result;
}

// Programs that change more of the store than random keys belong to all ranks. Where another rank
// has shards for this one, it waits for its word: both hear what is different.
void Session::Impl::refuse_unshared(const Program& program, const CompiledProgram& c) {
  if (options.world.size() == 1 || running_shards) return;
  for (const auto& [variable, value] : c.updates) {
    const VariableInfo& info = c.variables[variable].info;
    if (&home(info) == &own || info.kind == VariableKind::key) continue;
    agree_on_program(options.world, program, options);
    throw ArgumentError(
        fmt::format("program '{}' updates '{}', but has no shards to share among {} ranks; see "
                    "Program::shards()",
                    c.name, info.name, options.world.size()));
  }
}

Results Session::Impl::run(const Program& program, const NamedTensors& feeds, const RunOptions& o) {
  const auto c = cache.compiled(program, o.fetch);
  refuse_unshared(program, *c);
  if (!running_shards) {
    for (const auto& use : c->variables) check_not_cut(use.info.name);
  }
  std::vector<FeedType> types;
  for (const auto& [name, tensor] : feeds) {
    if (!tensor.defined()) {
      throw ArgumentError(fmt::format("the tensor fed as '{}' is undefined", name));
    }
    types.push_back({name, tensor.dtype(), tensor.sizes()});
  }
  const Bindings bindings = bind(*c, types, o.dims);
  const auto plan = cache.plan(c, bindings);
  start_variables(c);
  Outputs outputs = make_outputs(*plan, feeds, o.into);
  const std::vector<std::string> fresh_caches = make_caches(*c, bindings);
  try {
    execute(plan, feeds, outputs, o);
  } catch (...) {
    // A failed run leaves no caches behind: their sizes would bind the next run.
    if (!own.torn()) StoreAccess(own).erase(fresh_caches);
    throw;
  }
  return Results(std::move(outputs.tensors));
}

Results Session::Impl::run_sharded(const Program& program,
                                   FunctionRef<NamedTensors(int shard)> feeds,
                                   const RunOptions& o) {
  refuse_fetch(program, o);
  const auto run_part = [&](const Program& part, const NamedTensors& fed,
                            const RunOptions& options_of_part) {
    return run(part, fed, options_of_part);
  };
  const auto value = [&](const std::string& name) {
    const VariableInfo& info = graph.find_variable(name).info();
    start_variables({info});
    return home(info).tensor(info.name);
  };
  const auto memory = [&](std::size_t bytes) {
    // A sum for every level of the tree, one that is added to them, and what rounding up costs.
    sums.begin_run(bytes * static_cast<std::size_t>(
                               std::bit_width(static_cast<unsigned>(program.shards().count)) + 1));
    return sums.take(bytes);
  };
  SplitCache::Entry* entry = nullptr;
  options.world.or_poison([&] { entry = &split.find(program, options.world, cache); });
  // Throws on all ranks alike.
  if (!entry->agreed) agree_on_program(options.world, program, options);
  entry->agreed = true;
  check_shards(program.shards().count, options.world.size());
  // Another program, or another number of ranks, cut it otherwise.
  if (owned.clashes(entry->owned, program.variables())) gather_state();
  const auto take_state = [&](const OwnedStep& step) {
    owned.take(step, options.world, graph, *store, start());
  };
  const auto gather_parameters = [&](const OwnedStep& step, const Results& updated) {
    StoreAccess(*store).become_writer(
        this, fmt::format("program '{}' updates parameters", program.name()));
    weft::gather_parameters(step, options.world, updated, *store);
  };
  const SetForScope running(running_shards);
  std::optional<Results> results;
  options.world.or_poison(
      [&] {
        results = weft::run_shards(program, entry->parts, entry->owned, feeds, o,
                                   {.run = run_part,
                                    .value = value,
                                    .memory = memory,
                                    .bucket_bytes = options.bucket_bytes,
                                    .take_state = take_state,
                                    .gather_parameters = gather_parameters,
                                    .workers = executor.workers(),
                                    .world = options.world});
      },
      o.part_of);
  return std::move(*results);
}

std::vector<std::shared_ptr<const Buffer>> Session::Impl::pack_weights(
    const Plan& plan, const IdVector<VariableId, std::uint64_t>& versions, RunMemory& memory) {
  std::vector<std::shared_ptr<const Buffer>> packed;
  for (const StepId s : plan.steps.ids()) {
    const PlanStep& step = plan.steps[s];
    if (!step.packed_variable.defined()) continue;
    const VariableId v = step.packed_variable;
    const VariableInfo& info = plan.program->variables[v].info;
    const PackedInput& wanted = *step.kernel.packed;
    packed.push_back(
        StoreAccess(home(info))
            .packed()
            .get(info.name, versions[v], wanted.layout, wanted.bytes, [&](std::byte* to) {
              executor.workers().for_chunks(wanted.chunks, [&](std::int64_t chunk, int) {
                wanted.pack(memory.variables[v], to, chunk);
              });
            }));
    memory.packed.resize(plan.steps.size());
    memory.packed[s] = packed.back()->data();
  }
  return packed;
}

void Session::Impl::execute(const std::shared_ptr<const Plan>& plan, const NamedTensors& feeds,
                            Outputs& outputs, const RunOptions& o) {
  const CompiledProgram& c = *plan->program;
  RunMemory memory;
  memory.feeds.assign(c.inputs.size(), nullptr);
  for (const auto& [name, tensor] : feeds) {
    memory.feeds[c.find_input(name)] = tensor.raw();
  }
  memory.output_guarded = outputs.guarded;
  for (auto& [name, tensor] : outputs.tensors) memory.outputs.push_back(tensor.mutable_raw());

  StoreAccess shared(*store), mine(own);
  const auto access = [&](const VariableInfo& info) -> StoreAccess& {
    return &home(info) == &own ? mine : shared;
  };
  IdVector<VariableId, char> updated(c.variables.size());
  bool writes_own = false;
  const VariableInfo* written = nullptr;  // in the shared store, preferably not a key
  for (const PlanUpdate& u : plan->updates) {
    const VariableInfo& info = c.variables[u.variable].info;
    updated[u.variable] = 1;
    if (&access(info) != &shared) {
      writes_own = true;
      continue;
    }
    if (written == nullptr || written->kind == VariableKind::key) written = &info;
  }
  const bool writes_shared = written != nullptr;
  if (writes_shared) shared.become_writer(this, why_writer(c, *written));

  // A writer keeps the lock until its updates are written. A reader keeps handles instead: while
  // they are there, updates go to fresh memory.
  std::unique_lock<std::shared_mutex> write_lock;
  std::shared_lock<std::shared_mutex> read_lock;
  if (writes_shared) {
    write_lock = shared.write_lock();
  } else {
    read_lock = shared.read_lock();
  }
  const auto own_lock = mine.write_lock();
  shared.check_whole();
  mine.check_whole();
  std::vector<Tensor> handles;
  for (const VariableId v : c.variables.ids()) {
    StoreAccess& where = access(c.variables[v].info);
    if (updated[v]) {
      memory.updated.push_back(where.writable(c.variables[v].info.name).mutable_raw());
      memory.variables.push_back(memory.updated[v]);
    } else {
      handles.push_back(where.value(c.variables[v].info.name));
      memory.updated.push_back(nullptr);
      memory.variables.push_back(handles.back().raw());
    }
  }
  IdVector<VariableId, std::uint64_t> versions;  // of those that are read packed
  for (const PlanStep& step : plan->steps) {
    if (!step.packed_variable.defined()) continue;
    const VariableId v = step.packed_variable;
    versions.resize(c.variables.size());
    versions[v] = access(c.variables[v].info).version(c.variables[v].info.name);
  }
  if (read_lock.owns_lock()) read_lock.unlock();
  const auto packed = pack_weights(*plan, versions, memory);

  WriteGuard guard(writes_shared ? &shared : nullptr, writes_own ? &mine : nullptr);
  std::function<void(std::size_t)> on_output;
  if (o.on_output) on_output = [&](std::size_t i) { o.on_output(plan->outputs[i].name); };
  executor.run(plan, std::move(memory), o.cancel, profiling ? &profile : nullptr, guard, on_output);
  for (const PlanUpdate& u : plan->updates) {
    const VariableInfo& info = c.variables[u.variable].info;
    access(info).updated(info.name);
  }
}

Session::Session(Graph& graph, SessionOptions options)
    : Session(graph, std::make_shared<VariableStore>(), options) {}

Session::Session(Graph& graph, std::shared_ptr<VariableStore> store, SessionOptions options)
    : impl_(std::make_unique<Impl>(graph, std::move(store), options)) {}

Session::~Session() { StoreAccess(*impl_->store).release_writer(impl_.get()); }

Results Session::run(const Program& program, const NamedTensors& feeds, const RunOptions& options) {
  const Busy busy(impl_->busy);
  impl_->check_graph(program);
  if (is_whole(program)) return impl_->run(program, feeds, options);
  const auto of_shard = [&](int shard) { return cut_feeds(program, feeds, shard); };
  return impl_->run_sharded(program, of_shard, options);
}

Results Session::run_shards(const Program& program,
                            const std::function<NamedTensors(int shard)>& feeds,
                            const RunOptions& options) {
  const Busy busy(impl_->busy);
  impl_->check_graph(program);
  if (is_whole(program)) return impl_->run(program, feeds(0), options);
  return impl_->run_sharded(program, feeds, options);
}

std::shared_ptr<const Plan> Session::plan(const Program& program, const NamedSizes& feeds,
                                          const RunOptions& options) {
  const Busy busy(impl_->busy);
  impl_->check_graph(program);
  if (is_whole(program)) return impl_->plan(program, feeds, options.dims, options.fetch);
  refuse_fetch(program, options);
  const ShardedProgram& parts =
      impl_->split.find(program, impl_->options.world, impl_->cache).parts;
  const Program& stage =
      parts.stages.empty() ? parts.step.program : parts.stages.back().module.program;
  const SizesOfPart sizes = sizes_of_stage(program, stage, feeds, options.dims);
  return impl_->plan(stage, sizes.feeds, sizes.dims, {});
}

Tensor Session::value(std::string_view name) {
  const Busy busy(impl_->busy);
  if (!impl_->graph.has_variable(name) && impl_->store->contains(name)) {
    return impl_->store->tensor(name).clone();
  }
  const VariableInfo& info = impl_->graph.find_variable(name).info();
  impl_->check_not_cut(info.name);
  impl_->start_variables({info});
  if (info.kind == VariableKind::cache && !impl_->own.contains(info.name)) {
    throw StateError(
        fmt::format("cache '{}' {} has no value before its first use", info.name, info.type.str()));
  }
  return impl_->home(info).tensor(info.name).clone();
}

void Session::set_value(std::string_view name, const Tensor& value) {
  const Busy busy(impl_->busy);
  const VariableInfo& info = impl_->graph.find_variable(name).info();
  if (!value.defined()) {
    throw ArgumentError(fmt::format("variable '{}' was given an undefined tensor", name));
  }
  impl_->check_not_cut(info.name);
  impl_->start_variables({info});
  VariableStore& home = impl_->home(info);
  if (info.kind == VariableKind::cache && !home.contains(info.name)) {
    if (value.dtype() != info.type.dtype || value.rank() != info.type.shape.rank()) {
      throw ShapeError(fmt::format("cache '{}' is {}, but the new value is {}", info.name,
                                   info.type.str(), value.type_str()));
    }
    home.insert(info.name, info.kind, value.clone());
    return;
  }
  home.set(info.name, value.clone());
}

void Session::initialise() {
  const Busy busy(impl_->busy);
  impl_->start_all();
}

void Session::gather_state(Gather to) {
  const Busy busy(impl_->busy);
  impl_->gather_state(to);
  std::vector<VariableInfo> variables;
  for (const Variable& v : impl_->graph.variables()) {
    if (!impl_->owned.contains(v.name())) variables.push_back(v.info());
  }
  impl_->start_variables(variables);
}

void Session::reset_caches() {
  const Busy busy(impl_->busy);
  impl_->own.erase(VariableKind::cache);
}

Graph& Session::graph() const { return impl_->graph; }
const std::shared_ptr<VariableStore>& Session::store() const { return impl_->store; }
const SessionOptions& Session::options() const { return impl_->options; }
std::int64_t Session::compile_count() const { return impl_->cache.compile_count(); }
std::int64_t Session::specialise_count() const { return impl_->cache.specialise_count(); }
std::size_t Session::own_bytes() const { return impl_->own.bytes(); }
std::size_t Session::arena_bytes() const { return impl_->executor.arena_bytes(); }
void Session::set_profiling(bool on) { impl_->profiling = on; }
const Profile& Session::profile() const { return impl_->profile; }
void Session::clear_profile() { impl_->profile.clear(); }
Workers::Statistics Session::worker_statistics() const {
  return impl_->executor.workers().statistics();
}

}  // namespace weft
