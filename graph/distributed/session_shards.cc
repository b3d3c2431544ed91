// Runs sharded programs in a Session, on one or several ranks.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/world/shard_tree.h"
#include "weft/graph/distributed/agree.h"
#include "weft/graph/distributed/shard_runner.h"
#include "weft/graph/run/completions.h"
#include "weft/graph/run/session_impl.h"

namespace weft {
namespace {

// Sets a flag for the lifetime of this object.
class SetForScope {
 public:
  explicit SetForScope(bool& flag) : flag_(flag) { flag_ = true; }
  ~SetForScope() { flag_ = false; }
  SetForScope(const SetForScope&) = delete;
  SetForScope& operator=(const SetForScope&) = delete;

 private:
  bool& flag_;
};

// Returns true if the program has collective ops. Throws StateError if they were built for a
// different number of ranks.
bool check_collectives(const CompiledProgram& c, int ranks) {
  bool any = false;
  for (const Node* node : c.nodes) {
    if (node == nullptr || !node->op().has(Trait::collective)) continue;
    any = true;
    const std::int64_t wanted = node->attributes().integer("ranks");
    if (wanted == ranks) continue;
    node->graph().fail(
        StateError(fmt::format("built for a world of {} ranks, but the world of this Session has "
                               "{}: build the graph for World::size()",
                               wanted, ranks)),
        *node);
  }
  for (const std::vector<CompiledProgram::Body>& bodies : c.bodies) {
    for (const CompiledProgram::Body& body : bodies)
      any = check_collectives(*body.program, ranks) || any;
  }
  return any;
}

void reject_fetch(const Program& program, const RunOptions& o) {
  if (o.fetch.empty()) return;
  throw ArgumentError(
      fmt::format("program '{}' has {} shards, so a fetched value would exist once per shard; make "
                  "a sum or mean over the shards an output instead",
                  program.name(), program.shards().count));
}

}  // namespace

// Rejects unsharded programs that update more of the shared store than random keys: such programs
// would have to run on all ranks together. Another rank may run this program as a sharded program
// and wait for this rank, so the ranks compare the program first. If the ranks disagree, both sides
// report the difference.
void Session::Impl::reject_unsharded_updates(const Program& program, const CompiledProgram& c) {
  if (options.world.size() == 1 || running_shards) return;
  for (const auto& [variable, value] : c.updates) {
    const VariableInfo& info = c.variables[variable].info;
    if (&home(info) == &own || info.kind == VariableKind::key) continue;
    agree_on_program(options.world, program, options);
    throw ArgumentError(fmt::format(
        "program '{}' updates '{}', but has no shards to distribute among {} ranks; see "
        "Program::shards()",
        c.name, info.name, options.world.size()));
  }
}

bool Session::Impl::agree_on_collectives(const Program& program,
                                         const std::shared_ptr<const CompiledProgram>& c) {
  if (agreed.contains(c)) return true;
  if (!check_collectives(*c, options.world.size())) return false;
  agree_on_program(options.world, program, options);
  std::erase_if(agreed, [](const auto& p) { return p.expired(); });
  agreed.insert(c);
  return true;
}

void Session::Impl::gather_state(Gather to) {
  options.world.poison_on_error([&] {
    if (to == Gather::all) {
      owned.gather(options.world, *store);
    } else {
      owned.copy_to_first(options.world, *store);
    }
  });
}

std::shared_ptr<const Plan> Session::Impl::plan_sharded(const Program& program,
                                                        const NamedSizes& feeds,
                                                        const RunOptions& o) {
  reject_fetch(program, o);
  const ShardedProgram& parts = split.find(program, cache).parts;
  const Program& stage =
      parts.stages.empty() ? parts.step.program : parts.stages.back().module.program;
  const StageSizes sizes = sizes_of_stage(program, stage, feeds, o.dims);
  RunOptions of_stage;
  of_stage.dims = sizes.dims;
  if (!parts.stages.empty()) of_stage.streamed = parts.stages.back().sum_names();
  return plan(stage, sizes.feeds, of_stage);
}

std::vector<std::size_t> Session::Impl::order_of_sums(const Program& stage,
                                                      const NamedTensors& feeds,
                                                      const RunOptions& o) {
  const auto made = plan(stage, sizes_of(feeds), o);
  std::string here;
  for (const std::vector<std::size_t>& outputs : completions(*made)) {
    for (const std::size_t i : outputs) {
      if (const auto sum = shard_names::number_of_sum(made->outputs[i].name))
        here.append(reinterpret_cast<const char*>(&*sum), sizeof(*sum));
    }
  }
  const std::string first = options.world.broadcast(here);
  std::vector<std::size_t> order(first.size() / sizeof(std::size_t));
  std::memcpy(order.data(), first.data(), order.size() * sizeof(std::size_t));
  return order;
}

Results Session::Impl::run_sharded(const Program& program,
                                   FunctionRef<NamedTensors(int shard)> feeds,
                                   const RunOptions& o) {
  reject_fetch(program, o);
  check_streamed(program, o);
  const auto run_part = [&](const Program& part, const NamedTensors& fed,
                            const RunOptions& options_of_part) {
    return run(part, fed, options_of_part);
  };
  const auto value = [&](const std::string& name) {
    const VariableInfo& info = graph.find_variable(name).info();
    initialise_variables({info});
    return home(info).tensor(info.name);
  };
  const auto memory = [&](std::size_t bytes) {
    // One block of sums per level of the tree, plus some slack due to rounding up.
    sums.begin_run(bytes * static_cast<std::size_t>(
                               std::bit_width(static_cast<unsigned>(program.shards().count))));
    return sums.take(bytes);
  };
  SplitCache::Entry* entry = nullptr;
  const auto order = [&](const ShardedProgram::Stage& stage, const NamedTensors& fed,
                         const RunOptions& of_stage) -> const std::vector<std::size_t>& {
    const auto number = static_cast<std::size_t>(&stage - entry->parts.stages.data());
    std::optional<std::vector<std::size_t>>& found = entry->orders_of_sums[number];
    if (!found) found = order_of_sums(stage.module.program, fed, of_stage);
    return *found;
  };
  options.world.poison_on_error([&] { entry = &split.find(program, cache); });
  // Throws the same error on all ranks.
  if (!entry->agreed) agree_on_program(options.world, program, options);
  entry->agreed = true;
  check_shards(program.shards().count, options.world.size());
  // A different program, or a different number of ranks, may have partitioned the state
  // differently.
  if (owned.conflicts_with(entry->owned, program.variables())) gather_state(Gather::all);
  const auto partition_state = [&](const OwnedStep& step) {
    owned.take(step, options.world, graph, *store, start());
  };
  sending = nullptr;  // may be left over from a failed run
  const auto exchange_parameters = [&](const OwnedStep& step) {
    // The parameters might not be initialised yet, because no earlier program may have read them.
    std::vector<VariableInfo> parameters;
    for (const OwnedStep::Unit& unit : step.units) {
      for (const std::string& name : unit.parameters)
        parameters.push_back(graph.find_variable(name).info());
    }
    initialise_variables(parameters);
    StoreAccess(*store).become_writer(
        this, fmt::format("program '{}' updates parameters", program.name()));
    sending = ParameterExchange::begin(step, options.world, *store);
    return sending;
  };
  const auto poison_on_error = [&](FunctionRef<void()> body) {
    options.world.poison_on_error([&] { wait_for_parameters_on_error(body); }, o.part_of);
  };
  const SetForScope running(running_shards);
  std::optional<Results> results;
  const auto body = [&] {
    results = weft::run_shards(program, entry->parts, entry->owned, feeds, o,
                               {.run = run_part,
                                .value = value,
                                .memory = memory,
                                .order_of_sums = order,
                                .sums_owned = entry->sums_owned,
                                .bucket_bytes = options.bucket_bytes,
                                .overlap = options.overlap,
                                .wait_for_parameters = [this] { wait_for_parameters(); },
                                .partition_state = partition_state,
                                .exchange_parameters = exchange_parameters,
                                .poison_on_error = poison_on_error,
                                .workers = executor.workers(),
                                .world = options.world});
    pending = std::exchange(sending, nullptr);
    if (!options.overlap) wait_for_parameters();
  };
  poison_on_error(body);
  return std::move(*results);
}

void Session::Impl::wait_for_parameters() {
  if (const auto before = std::exchange(pending, nullptr)) before->wait_for_all();
}

// If `body` fails on this rank, finishes the pending parameter all-gather before rethrowing, so
// that the parameters that other ranks have already sent are not lost.
void Session::Impl::wait_for_parameters_on_error(FunctionRef<void()> body) {
  try {
    body();
  } catch (const WorldError&) {
    throw;
  } catch (...) {
    try {
      wait_for_parameters();
    } catch (const WorldError&) {  // the first error is reported
    }
    throw;
  }
}

Results Session::run_shards(const Program& program,
                            const std::function<NamedTensors(int shard)>& feeds,
                            const RunOptions& options) {
  const Busy busy(impl_->busy);
  impl_->check_graph(program);
  if (is_unsharded(program)) return impl_->run(program, feeds(0), options);
  return impl_->run_sharded(program, feeds, options);
}

ShardRun Session::shards_of_rank(const Program& program) {
  const Busy busy(impl_->busy);
  impl_->check_graph(program);
  if (is_unsharded(program)) return {0, 1};
  const World& world = impl_->options.world;
  const bool sums_owned = impl_->split.find(program, impl_->cache).sums_owned;
  return weft::shards_of_rank(world.rank(), world.size(), program.shards().count, sums_owned);
}

void Session::Impl::initialise_unpartitioned() {
  std::vector<VariableInfo> variables;
  for (const Variable& v : graph.variables()) {
    if (!owned.contains(v.name())) variables.push_back(v.info());
  }
  initialise_variables(variables);
}

void Session::gather_state(Gather to) {
  const Busy busy(impl_->busy);
  impl_->gather_state(to);
  impl_->initialise_unpartitioned();
}

const OwnedState& owned_state(Session& session) {
  const Busy busy(session.impl_->busy);
  session.impl_->initialise_unpartitioned();
  return session.impl_->owned;
}

}  // namespace weft
