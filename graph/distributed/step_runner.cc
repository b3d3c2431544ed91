#include "weft/graph/distributed/step_runner.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "weft/core/error.h"
#include "weft/core/world/shard_tree.h"
#include "weft/graph/distributed/agree.h"
#include "weft/graph/distributed/shard_feeds.h"
#include "weft/graph/distributed/step_run.h"
#include "weft/graph/engine/collectives.h"
#include "weft/graph/engine/completions.h"

namespace weft {
namespace {

void reject_fetch(const Program& program, const RunOptions& o) {
  if (o.fetch.empty()) return;
  throw ArgumentError(
      fmt::format("program '{}' has {} shards, so a fetched value would exist once per shard; make "
                  "a sum or mean over the shards an output instead",
                  program.name(), program.shards().count));
}

}  // namespace

StepRunner::StepRunner(Engine& engine)
    : engine_(engine),
      world_(engine.options().world),
      owned_(engine.own()),
      split_(world_, engine.options().sums_are_owned()) {
  const std::size_t bytes = engine.options().bucket_bytes;
  if (bytes == 0 || bytes % 64 != 0) {
    throw ArgumentError(
        fmt::format("bucket_bytes is {}; it must be a positive multiple of 64", bytes));
  }
}

void StepRunner::check_not_partitioned(std::string_view name) const {
  if (!owned_.contains(name)) return;
  throw StateError(fmt::format(
      "variable '{}' is partitioned: each of the {} ranks holds the part that it updates; call "
      "Session::gather_state() on all ranks to restore the complete variable",
      name, world_.size()));
}

// Such programs would have to run on all ranks together. Another rank may run this program as a
// sharded program and wait for this rank, so the ranks compare the program first. If the ranks
// disagree, both sides report the difference.
void StepRunner::reject_updates(const Program& program, const CompiledProgram& compiled) {
  for (const auto& [variable, value] : compiled.updates) {
    const VariableInfo& info = compiled.variables[variable].info;
    if (&engine_.home(info) == &engine_.own() || info.kind == VariableKind::key) continue;
    agree_on_program(world_, program, engine_.options());
    throw ArgumentError(fmt::format(
        "program '{}' updates '{}', but has no shards to distribute among {} ranks; see "
        "Program::shards()",
        compiled.name, info.name, world_.size()));
  }
}

bool StepRunner::agree_on_collectives(const Program& program,
                                      const std::shared_ptr<const CompiledProgram>& compiled) {
  if (const auto it = collective_.find(compiled); it != collective_.end()) return it->second;
  const bool collective = check_collectives(*compiled, world_.size());
  if (collective) agree_on_program(world_, program, engine_.options());
  std::erase_if(collective_, [](const auto& p) { return p.first.expired(); });
  collective_.emplace(compiled, collective);
  return collective;
}

Results StepRunner::run_unsharded(const Program& program, const NamedTensors& feeds,
                                  const RunOptions& options) {
  Engine::check_streamed(program, options);
  const auto compiled = engine_.plans().compiled(program, options.fetch, options.streamed);
  if (!agree_on_collectives(program, compiled)) reject_updates(program, *compiled);
  for (const auto& use : compiled->variables) check_not_partitioned(use.info.name);
  return run_part(program, feeds, options);
}

std::shared_ptr<const Plan> StepRunner::plan(const Program& program, const NamedSizes& feeds,
                                             const RunOptions& options) {
  reject_fetch(program, options);
  const ShardedProgram& parts = split_.find(program, engine_.plans()).parts;
  const Program& stage =
      parts.stages.empty() ? parts.step.program : parts.stages.back().module.program;
  const StageSizes sizes = sizes_of_stage(program, stage, feeds, options.dims);
  RunOptions of_stage;
  of_stage.dims = sizes.dims;
  if (!parts.stages.empty()) of_stage.streamed = parts.stages.back().sum_names();
  return engine_.plan(stage, sizes.feeds, of_stage);
}

ShardRun StepRunner::shards_of_rank(const Program& program) {
  const bool sums_owned = split_.find(program, engine_.plans()).sums_owned;
  return weft::shards_of_rank(world_.rank(), world_.size(), program.shards().count, sums_owned);
}

void StepRunner::gather_state(Gather to) {
  world_.poison_on_error([&] {
    if (to == Gather::all) {
      owned_.gather(world_, *engine_.store());
    } else {
      owned_.copy_to_first(world_, *engine_.store());
    }
  });
}

void StepRunner::initialise() {
  std::vector<VariableInfo> variables;
  for (const Variable& v : engine_.graph().variables()) {
    if (!owned_.contains(v.name())) variables.push_back(v.info());
  }
  engine_.initialise(variables);
}

Results StepRunner::run(const Program& program, FunctionRef<NamedTensors(int shard)> feeds,
                        const RunOptions& options) {
  reject_fetch(program, options);
  Engine::check_streamed(program, options);
  SplitCache::Entry* entry = nullptr;
  world_.poison_on_error([&] { entry = &split_.find(program, engine_.plans()); });
  // Throws the same error on all ranks.
  if (!entry->agreed) agree_on_program(world_, program, engine_.options());
  entry->agreed = true;
  check_shards(program.shards().count, world_.size());
  // A different program, or a different number of ranks, may have partitioned the state
  // differently.
  if (owned_.conflicts_with(entry->owned, program.variables())) gather_state(Gather::all);
  sending_ = nullptr;  // may be left over from a failed run
  sum_memory_.begin_step(program.shards().count);
  std::optional<Results> results;
  poison_on_error(options, [&] {
    results = StepRun(*this, *entry, options).run(feeds);
    pending_ = std::exchange(sending_, nullptr);
    if (!engine_.options().overlap) wait_for_parameters();
  });
  return std::move(*results);
}

SumContext StepRunner::sum_context(const SplitCache::Entry& entry) {
  return {.world = world_,
          .workers = engine_.executor().workers(),
          .memory = sum_memory_,
          .shards = entry.program.shards().count,
          .owned = entry.sums_owned,
          .overlap = engine_.options().overlap,
          .bucket_bytes = engine_.options().bucket_bytes};
}

Results StepRunner::run_part(const Program& part, const NamedTensors& feeds,
                             const RunOptions& options) {
  Engine::BeforeRead before_read;
  if (sending_ != nullptr) {
    before_read = [](std::string_view) {};  // the step reads the old values
  } else if (pending_ != nullptr) {
    before_read = [this](std::string_view variable) { pending_->wait(variable); };
  }
  return engine_.run(part, feeds, options, before_read);
}

const std::vector<std::size_t>& StepRunner::order_of_sums(SplitCache::Entry& entry,
                                                          std::size_t stage,
                                                          const NamedTensors& feeds,
                                                          const RunOptions& options) {
  std::optional<std::vector<std::size_t>>& order = entry.orders_of_sums[stage];
  if (order) return *order;
  const auto plan =
      engine_.plan(entry.parts.stages[stage].module.program, sizes_of(feeds), options);
  std::string here;
  for (const std::vector<std::size_t>& outputs : completions(*plan)) {
    for (const std::size_t i : outputs) {
      if (const auto sum = shard_names::number_of_sum(plan->outputs[i].name))
        here.append(reinterpret_cast<const char*>(&*sum), sizeof(*sum));
    }
  }
  const std::string first = world_.broadcast(here);
  order.emplace(first.size() / sizeof(std::size_t));
  std::memcpy(order->data(), first.data(), order->size() * sizeof(std::size_t));
  return *order;
}

void StepRunner::partition_state(const OwnedStep& step) {
  owned_.take(step, world_, engine_.graph(), *engine_.store(), engine_.start());
}

std::shared_ptr<ParameterExchange> StepRunner::exchange_parameters(const Program& program,
                                                                   const OwnedStep& step) {
  // The parameters might not be initialised yet, because no earlier program may have read them.
  std::vector<VariableInfo> parameters;
  for (const OwnedStep::Unit& unit : step.units) {
    for (const std::string& name : unit.parameters)
      parameters.push_back(engine_.graph().find_variable(name).info());
  }
  engine_.initialise(parameters);
  engine_.become_writer(fmt::format("program '{}' updates parameters", program.name()));
  sending_ = ParameterExchange::begin(step, world_, *engine_.store());
  return sending_;
}

void StepRunner::wait_for_parameters() {
  if (const auto before = std::exchange(pending_, nullptr)) before->wait_for_all();
}

void StepRunner::poison_on_error(const RunOptions& options, FunctionRef<void()> body) {
  const auto finish_and_rethrow = [&] {
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
  };
  world_.poison_on_error(finish_and_rethrow, options.part_of);
}

}  // namespace weft
