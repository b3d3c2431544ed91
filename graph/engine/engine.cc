#include "weft/graph/engine/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "weft/core/closest.h"
#include "weft/core/error.h"
#include "weft/graph/engine/collectives.h"
#include "weft/graph/engine/write_guard.h"

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

Engine::Engine(Graph& graph, std::shared_ptr<VariableStore> store, const SessionOptions& options)
    : graph_(graph),
      options_(options),
      store_(std::move(store)),
      plans_({.plans = options.plan_cache,
              .passes = options.passes,
              .verify = options.verify,
              .guard = options.poison ? kGuardBytes : 0,
              .precision = options.precision,
              .batch_invariant = options.batch_invariant,
              .memory_budget = options.memory_budget,
              .prepack = options.prepack,
              .check_finite = options.check_finite}),
      executor_({.threads = options.threads,
                 .shuffle_seed = options.shuffle_seed,
                 .poison = options.poison,
                 .check_finite = options.check_finite,
                 .world = options.world,
                 .trace = options.trace}),
      profiling_(options.profile) {
  if (store_ == nullptr) throw ArgumentError("a Session needs a VariableStore; this one is null");
  if (options.plan_cache < 1) {
    throw ArgumentError(fmt::format("plan_cache is {}; it must be at least 1", options.plan_cache));
  }
}

bool Engine::is_own(const VariableInfo& info) const {
  if (info.kind == VariableKind::cache) return true;
  if (info.kind == VariableKind::key && options_.own_keys) return true;
  return options_.world.size() > 1 && own_.contains(info.name);
}

StoreAccess::Start Engine::start() {
  return {.seed = options_.seed,
          .workers = &executor_.workers(),
          .missing = options_.initialise_missing,
          .graph = &graph_};
}

void Engine::initialise(const std::vector<VariableInfo>& variables) {
  std::vector<StoreAccess::Wanted> shared, own;
  for (const VariableInfo& info : variables) {
    if (info.kind == VariableKind::cache) continue;
    (is_own(info) ? own : shared).push_back({info, variable_sizes(info, {})});
  }
  StoreAccess(*store_).ensure(shared, start());
  StoreAccess(own_).ensure(own, start());
}

Tensor Engine::value(std::string_view name) {
  const VariableInfo& info = graph_.find_variable(name).info();
  initialise({info});
  return home(info).tensor(info.name);
}

bool Engine::prepare(const std::shared_ptr<const CompiledProgram>& program) {
  if (const auto it = prepared_.find(program); it != prepared_.end()) return it->second;
  const bool collective = check_collectives(*program, options_.world.size());
  std::vector<VariableInfo> variables;
  for (const auto& use : program->variables) variables.push_back(use.info);
  initialise(variables);
  std::erase_if(prepared_, [](const auto& p) { return p.first.expired(); });
  prepared_.emplace(program, collective);
  return collective;
}

std::shared_ptr<const Plan> Engine::plan(const Program& program, const NamedSizes& feeds,
                                         const RunOptions& options) {
  const auto c = plans_.compiled(program, options.fetch, options.streamed);
  std::vector<FeedType> types;
  for (const auto& [name, sizes] : feeds) types.push_back({name, std::nullopt, sizes});
  return plans_.plan(c, bind(*c, types, options.dims));
}

Bindings Engine::bind(const CompiledProgram& c, const std::vector<FeedType>& feeds,
                      const DimValues& dims) const {
  std::vector<std::pair<VariableId, Sizes>> existing;
  for (const VariableId v : c.variables.ids()) {
    const VariableInfo& info = c.variables[v].info;
    if (info.kind == VariableKind::cache && own_.contains(info.name)) {
      existing.emplace_back(v, own_.tensor(info.name).sizes());
    }
  }
  return bind_symbols(c, feeds, dims, existing);
}

std::vector<std::string> Engine::make_caches(const CompiledProgram& c, const Bindings& bindings) {
  std::vector<StoreAccess::Wanted> caches;
  for (const auto& use : c.variables) {
    if (use.info.kind == VariableKind::cache && !own_.contains(use.info.name))
      caches.push_back({use.info, variable_sizes(use.info, bindings)});
  }
  return StoreAccess(own_).ensure(caches, start());
}

void Engine::check_streamed(const Program& program, const RunOptions& o) {
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

Engine::Outputs Engine::make_outputs(const Plan& plan, const NamedTensors& feeds,
                                     const NamedTensors& into) {
  Outputs result;
  const std::size_t margin = options_.poison ? kGuardBytes : 0;
  std::size_t bytes = 0;
  for (const PlanOutput& output : plan.outputs) {
    if (!output.streamed) bytes += plan.values[output.value].bytes + 2 * margin;
  }
  pool_.begin_run(bytes);
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
      tensor = Tensor::view(v.dtype, v.sizes, pool_.take(v.bytes + 2 * margin), margin);
    }
    result.guarded.push_back(options_.poison && given == into.end() && !output.streamed);
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

Results Engine::run(const Program& program, const NamedTensors& feeds, const RunOptions& options,
                    const BeforeRead& before_read) {
  check_streamed(program, options);
  const auto c = plans_.compiled(program, options.fetch, options.streamed);
  std::vector<FeedType> types;
  for (const auto& [name, tensor] : feeds) {
    if (!tensor.defined()) {
      throw ArgumentError(fmt::format("the tensor fed as '{}' is undefined", name));
    }
    types.push_back({name, tensor.dtype(), tensor.sizes()});
  }
  const Bindings bindings = bind(*c, types, options.dims);
  const auto plan = plans_.plan(c, bindings);
  const bool collective = prepare(c);
  Outputs outputs = make_outputs(*plan, feeds, options.into);
  const std::vector<std::string> fresh_caches = make_caches(*c, bindings);
  try {
    const auto body = [&] { execute(plan, feeds, outputs, options, before_read); };
    // From here on, other ranks may wait in a collective op for this rank.
    collective ? options_.world.poison_on_error(body, options.part_of) : body();
  } catch (...) {
    // Remove the caches that the failed run created, because their sizes would bind symbols in the
    // next run.
    if (!own_.torn()) StoreAccess(own_).erase(fresh_caches);
    throw;
  }
  NamedTensors results;
  for (std::size_t i = 0; i < outputs.tensors.size(); ++i) {
    if (c->streamed[i] == 0) results.push_back(std::move(outputs.tensors[i]));
  }
  return Results(std::move(results));
}

std::vector<std::shared_ptr<const Buffer>> Engine::pack_weights(
    const Plan& plan, const IdVector<VariableId, std::uint64_t>& versions,
    const IdVector<VariableId, StoreAccess*>& homes, RunMemory& memory) {
  std::vector<std::shared_ptr<const Buffer>> packed;
  for (const StepId s : plan.steps.ids()) {
    const PlanStep& step = plan.steps[s];
    if (!step.packed_variable.defined()) continue;
    const VariableId v = step.packed_variable;
    const PackedInput& wanted = *step.kernel.packed;
    packed.push_back(homes[v]->packed().get(plan.program->variables[v].info.name, versions[v],
                                            wanted.layout, wanted.bytes, [&](std::byte* to) {
                                              executor_.workers().for_chunks(
                                                  wanted.chunks, [&](std::int64_t chunk, int) {
                                                    wanted.pack(memory.variables[v], to, chunk);
                                                  });
                                            }));
    memory.packed.resize(plan.steps.size());
    memory.packed[s] = packed.back()->data();
  }
  return packed;
}

void Engine::execute(const std::shared_ptr<const Plan>& plan, const NamedTensors& feeds,
                     Outputs& outputs, const RunOptions& options, const BeforeRead& before_read) {
  const CompiledProgram& c = *plan->program;
  RunMemory memory;
  memory.feeds.assign(c.inputs.size(), nullptr);
  for (const auto& [name, tensor] : feeds) {
    memory.feeds[c.find_input(name)] = tensor.raw();
  }
  memory.output_guarded = outputs.guarded;
  for (auto& [name, tensor] : outputs.tensors)
    memory.outputs.push_back(tensor.defined() ? tensor.mutable_raw() : nullptr);

  StoreAccess shared(*store_), own(own_);
  IdVector<VariableId, StoreAccess*> homes;
  for (const auto& use : c.variables) homes.push_back(is_own(use.info) ? &own : &shared);
  IdVector<VariableId, char> updated(c.variables.size());
  bool writes_own = false;
  const VariableInfo* written = nullptr;  // a variable of the shared store, preferably not a key
  for (const PlanUpdate& u : plan->updates) {
    const VariableInfo& info = c.variables[u.variable].info;
    updated[u.variable] = 1;
    if (homes[u.variable] == &own) {
      writes_own = true;
      continue;
    }
    if (written == nullptr || written->kind == VariableKind::key) written = &info;
  }
  const bool writes_shared = written != nullptr;
  if (writes_shared) become_writer(writer_reason(c, *written));
  const auto on_pending = before_read ? StoreAccess::Pending::ignore : StoreAccess::Pending::wait;
  for (const PlanStep& step : plan->steps) {  // packed below, before the first step
    if (before_read && step.packed_variable.defined())
      before_read(c.variables[step.packed_variable].info.name);
  }

  // A writer keeps the lock until its updates are written. A reader keeps handles instead; while
  // handles exist, updates are written to fresh memory.
  std::unique_lock<std::shared_mutex> write_lock;
  std::shared_lock<std::shared_mutex> read_lock;
  if (writes_shared) {
    write_lock = shared.write_lock(on_pending);
  } else {
    read_lock = shared.read_lock(on_pending);
  }
  const auto own_lock = own.write_lock();
  shared.check_whole();
  own.check_whole();
  std::vector<Tensor> handles;
  for (const VariableId v : c.variables.ids()) {
    const std::string& name = c.variables[v].info.name;
    if (updated[v]) {
      memory.updated.push_back(homes[v]->writable(name).mutable_raw());
      memory.variables.push_back(memory.updated[v]);
    } else {
      handles.push_back(homes[v]->value(name));
      memory.updated.push_back(nullptr);
      memory.variables.push_back(handles.back().raw());
    }
  }
  IdVector<VariableId, std::uint64_t> versions;  // versions of variables read from packed copies
  for (const PlanStep& step : plan->steps) {
    if (!step.packed_variable.defined()) continue;
    const VariableId v = step.packed_variable;
    versions.resize(c.variables.size());
    versions[v] = homes[v]->version(c.variables[v].info.name);
  }
  if (read_lock.owns_lock()) read_lock.unlock();
  const auto packed = pack_weights(*plan, versions, homes, memory);

  WriteGuard guard(writes_shared ? &shared : nullptr, writes_own ? &own : nullptr);
  RunListeners listeners;
  if (options.on_output) {
    listeners.on_output = [&](std::size_t i, const Tensor& streamed) {
      const auto& [name, tensor] = outputs.tensors[i];
      options.on_output(name, streamed.defined() ? streamed : tensor);
    };
  }
  if (before_read) {
    listeners.before_read = [&](VariableId v) { before_read(c.variables[v].info.name); };
  }
  executor_.run(plan, std::move(memory), options.cancel, profiling_ ? &profile_ : nullptr, guard,
                listeners);
  for (const PlanUpdate& u : plan->updates)
    homes[u.variable]->updated(c.variables[u.variable].info.name);
}

}  // namespace weft
