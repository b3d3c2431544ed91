#include "weft/graph/run/session.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/core/closest.h"
#include "weft/graph/distributed/shard_runner.h"
#include "weft/graph/run/session_impl.h"

namespace weft {
namespace {

bool overlap(const Tensor& a, const Tensor& b) {
  return a.bytes() > 0 && b.bytes() > 0 && a.raw() < b.raw() + b.bytes() &&
         b.raw() < a.raw() + a.bytes();
}

// Returns the reason why a program needs the writer role of the store, for error messages.
std::string writer_reason(const CompiledProgram& c, const VariableInfo& written) {
  if (written.kind == VariableKind::key) {
    return fmt::format(
        "program '{}' draws random numbers, which advances the key '{}' of the store; set "
        "SessionOptions::own_keys to keep the keys in this Session, so that it only reads the "
        "store",
        c.name, written.name);
  }
  return fmt::format("program '{}' updates '{}'", c.name, written.name);
}

}  // namespace

// Streamed outputs need a callback and cannot be written into caller memory.
void Session::Impl::check_streamed(const Program& program, const RunOptions& o) {
  if (o.streamed.empty()) return;
  if (!o.on_output) {
    throw ArgumentError(
        fmt::format("output '{}' of program '{}' is streamed but RunOptions::on_output is not set",
                    o.streamed[0], program.name()));
  }
  for (const auto& [name, tensor] : o.into) {
    if (std::find(o.streamed.begin(), o.streamed.end(), name) == o.streamed.end()) continue;
    throw ArgumentError(
        fmt::format("output '{}' of program '{}' is streamed and cannot be written into a tensor",
                    name, program.name()));
  }
}

Session::Impl::Outputs Session::Impl::make_outputs(const Plan& plan, const NamedTensors& feeds,
                                                   const NamedTensors& into) {
  Outputs result;
  const std::size_t margin = options.poison ? kGuardBytes : 0;
  std::size_t bytes = 0;
  for (const PlanOutput& output : plan.outputs) {
    if (!output.streamed) bytes += plan.values[output.value].bytes + 2 * margin;
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
    } else if (!output.streamed) {
      tensor = Tensor::view(v.dtype, v.sizes, pool.take(v.bytes + 2 * margin), margin);
    }
    result.guarded.push_back(options.poison && given == into.end() && !output.streamed);
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
            "the tensor to write output '{}' into overlaps the tensor fed as '{}'", name, feed));
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

Results Session::Impl::run(const Program& program, const NamedTensors& feeds, const RunOptions& o) {
  check_streamed(program, o);
  const auto c = cache.compiled(program, o.fetch, o.streamed);
  const bool together = agree_on_collectives(program, c);
  if (!together) reject_unsharded_updates(program, *c);
  if (!running_shards) {
    for (const auto& use : c->variables) check_not_partitioned(use.info.name);
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
  initialise_variables(c);
  Outputs outputs = make_outputs(*plan, feeds, o.into);
  const std::vector<std::string> fresh_caches = make_caches(*c, bindings);
  try {
    const auto body = [&] { execute(plan, feeds, outputs, o); };
    together ? options.world.poison_on_error(body, o.part_of) : body();
  } catch (...) {
    // Remove the caches that the failed run created, because their sizes would bind symbols in the
    // next run.
    if (!own.torn()) StoreAccess(own).erase(fresh_caches);
    throw;
  }
  NamedTensors results;
  for (std::size_t i = 0; i < outputs.tensors.size(); ++i) {
    if (c->streamed[i] == 0) results.push_back(std::move(outputs.tensors[i]));
  }
  return Results(std::move(results));
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
  for (auto& [name, tensor] : outputs.tensors)
    memory.outputs.push_back(tensor.defined() ? tensor.mutable_raw() : nullptr);

  StoreAccess shared(*store), mine(own);
  const auto access = [&](const VariableInfo& info) -> StoreAccess& {
    return &home(info) == &own ? mine : shared;
  };
  IdVector<VariableId, char> updated(c.variables.size());
  bool writes_own = false;
  const VariableInfo* written = nullptr;  // a variable of the shared store, preferably not a key
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
  if (writes_shared) shared.become_writer(this, writer_reason(c, *written));
  // A Session that exchanges parameters waits for each parameter before it is first read (below).
  // Any other Session over the same store waits for all pending updates here.
  const bool exchanges_parameters = sending != nullptr || pending != nullptr;
  const auto on_pending =
      exchanges_parameters ? StoreAccess::Pending::ignore : StoreAccess::Pending::wait;
  const auto reads_packed = [](const PlanStep& step) { return step.packed_variable.defined(); };
  if (std::any_of(plan->steps.begin(), plan->steps.end(), reads_packed)) wait_for_parameters();

  // A writer keeps the lock until its updates are written. A reader keeps handles instead; while
  // handles exist, updates are written to fresh memory.
  std::unique_lock<std::shared_mutex> write_lock;
  std::shared_lock<std::shared_mutex> read_lock;
  if (writes_shared) {
    write_lock = shared.write_lock(on_pending);
  } else {
    read_lock = shared.read_lock(on_pending);
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
  IdVector<VariableId, std::uint64_t> versions;  // versions of variables read from packed copies
  for (const PlanStep& step : plan->steps) {
    if (!step.packed_variable.defined()) continue;
    const VariableId v = step.packed_variable;
    versions.resize(c.variables.size());
    versions[v] = access(c.variables[v].info).version(c.variables[v].info.name);
  }
  if (read_lock.owns_lock()) read_lock.unlock();
  const auto packed = pack_weights(*plan, versions, memory);

  WriteGuard guard(writes_shared ? &shared : nullptr, writes_own ? &mine : nullptr);
  RunListeners listeners;
  if (o.on_output) {
    listeners.on_output = [&](std::size_t i, const Tensor& streamed) {
      const auto& [name, tensor] = outputs.tensors[i];
      o.on_output(name, streamed.defined() ? streamed : tensor);
    };
  }
  if (pending != nullptr) {
    listeners.before_read = [&](VariableId v) { pending->wait(c.variables[v].info.name); };
  }
  executor.run(plan, std::move(memory), o.cancel, profiling ? &profile : nullptr, guard, listeners);
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
  if (is_unsharded(program)) return impl_->run(program, feeds, options);
  const auto of_shard = [&](int shard) { return slice_feeds(program, feeds, shard); };
  return impl_->run_sharded(program, of_shard, options);
}

std::shared_ptr<const Plan> Session::plan(const Program& program, const NamedSizes& feeds,
                                          const RunOptions& options) {
  const Busy busy(impl_->busy);
  impl_->check_graph(program);
  return is_unsharded(program) ? impl_->plan(program, feeds, options)
                               : impl_->plan_sharded(program, feeds, options);
}

Tensor Session::value(std::string_view name) {
  const Busy busy(impl_->busy);
  if (!impl_->graph.has_variable(name) && impl_->store->contains(name)) {
    return impl_->store->tensor(name).clone();
  }
  const VariableInfo& info = impl_->graph.find_variable(name).info();
  impl_->check_not_partitioned(info.name);
  impl_->initialise_variables({info});
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
  impl_->check_not_partitioned(info.name);
  impl_->initialise_variables({info});
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
  impl_->initialise_all();
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
std::size_t Session::sum_bytes() const { return impl_->sums.bytes(); }
std::size_t Session::arena_bytes() const { return impl_->executor.arena_bytes(); }
void Session::set_profiling(bool on) { impl_->profiling = on; }
const Profile& Session::profile() const { return impl_->profile; }
void Session::clear_profile() { impl_->profile.clear(); }
Workers::Statistics Session::worker_statistics() const {
  return impl_->executor.workers().statistics();
}

}  // namespace weft
