#include "weft/models/program/limits/step_cost.h"

#include <algorithm>
#include <string>
#include <vector>

#include "weft/graph/distributed/early_sums.h"
#include "weft/graph/distributed/shard_runner.h"
#include "weft/graph/plan/specialise.h"

namespace weft::program {
namespace {

void add_variables(const Program& train, StepCost& cost) {
  std::vector<Value> tables;
  for (const Node* node : train.nodes()) {
    if (node->op().name == "take") tables.push_back(node->inputs()[0]);
  }
  for (const Variable& v : train.variables()) {
    const VariableInfo& info = v.info();
    const auto elements = static_cast<double>(info.type.shape.numel().constant());
    const double bytes = elements * static_cast<double>(dtype_size(info.type.dtype));
    if (info.kind == VariableKind::optimizer) cost.state_bytes += bytes;
    if (info.kind == VariableKind::parameter)
      (info.trainable ? cost.parameter_bytes : cost.frozen_bytes) += bytes;
    if (info.trainable && std::find(tables.begin(), tables.end(), v.value()) != tables.end())
      cost.table_bytes += bytes;
  }
}

}  // namespace

std::shared_ptr<const Plan> plan_of(const Program& program, const NamedSizes& inputs,
                                    const RunOptions& options, Precision precision) {
  const auto compiled = compile(program, options.fetch, {.streamed = options.streamed});
  std::vector<FeedType> feeds;
  for (const auto& [name, sizes] : inputs) feeds.push_back({name, {}, sizes});
  return specialise(compiled, bind_symbols(*compiled, feeds, options.dims),
                    {.precision = precision});
}

ShardSums shard_sums(const Plan& of_shard) {
  ShardSums sums;
  for (const PlanOutput& output : of_shard.outputs) {
    const auto bytes = static_cast<double>(of_shard.values[output.value].bytes);
    if (shard_names::number_of_sum(output.name)) sums.all += bytes;
    if (shard_names::number_of_early(output.name)) sums.early += bytes;
  }
  return sums;
}

StepCost cost_of_step(const Program& train, const NamedSizes& inputs, Precision precision) {
  StepCost cost;
  add_variables(train, cost);
  if (train.shards().count == 1) {
    const auto plan = plan_of(train, inputs, {}, precision);
    cost.shard_flops = plan->cost().flops;
    cost.arena_bytes = static_cast<double>(plan->memory().arena);
    return cost;
  }
  ShardedProgram parts = split_shards(train);
  add_early_sums(parts);
  const auto plan_part = [&](const Program& part, const std::vector<std::string>& streamed) {
    const StageSizes sizes = sizes_of_stage(train, part, inputs, {});
    RunOptions options;
    options.dims = sizes.dims;
    options.streamed = streamed;
    return plan_of(part, sizes.feeds, options, precision);
  };
  for (const ShardedProgram::Stage& stage : parts.stages) {
    const auto plan = plan_part(stage.module.program, stage.sum_names());
    cost.shard_flops += plan->cost().flops;
    cost.arena_bytes = std::max(cost.arena_bytes, static_cast<double>(plan->memory().arena));
    const ShardSums sums = shard_sums(*plan);
    cost.sum_bytes += sums.all;
    cost.early_bytes += sums.early;
  }
  cost.rows_bytes = std::max(0.0, cost.table_bytes - cost.early_bytes);
  cost.step_flops = plan_part(parts.step.program, {})->cost().flops;
  return cost;
}

}  // namespace weft::program
