#include "weft/models/program/limits/step_memory.h"

#include <algorithm>

#include "weft/core/world/shard_tree.h"
#include "weft/graph/distributed/split_shards.h"

namespace weft::program {
namespace {

/// Returns the size in bytes of a program's optimizer state (if `optimizer` is true) or of its
/// other variables. Caches, which have variable sizes, do not occur in training.
double variable_bytes(const Program& program, bool optimizer) {
  double bytes = 0;
  for (const Variable& variable : program.variables()) {
    if ((variable.info().kind == VariableKind::optimizer) != optimizer) continue;
    const ValueType& type = variable.value().type();
    bytes += static_cast<double>(type.shape.numel().constant()) *
             static_cast<double>(dtype_size(type.dtype));
  }
  return bytes;
}

/// Returns the size of the gradient sums of a stage, from the plan for one shard.
double sum_bytes(const Plan& of_shard) {
  double bytes = 0;
  for (const PlanOutput& output : of_shard.outputs) {
    if (shard_names::number_of_sum(output.name))
      bytes += static_cast<double>(of_shard.values[output.value].bytes);
  }
  return bytes;
}

/// Complete subtrees of shards. A rank sends the sums of its subtrees to every owner, and an owner
/// receives those of all other ranks.
struct SubtreesOfRanks {
  SubtreesOfRanks(int ranks, int shards) {
    double all = 0, least_sent = shards;
    for (int r = 0; r < ranks; ++r) {
      const ShardRun run = contiguous_shards(r, ranks, shards);
      most_kept = std::max(most_kept, max_live_sums(run));
      const auto subtrees = static_cast<double>(subtrees_of(run).size());
      most_sent = std::max(most_sent, subtrees);
      least_sent = std::min(least_sent, subtrees);
      all += subtrees;
    }
    most_received = all - least_sent;
  }
  int most_kept = 1;
  double most_sent = 1, most_received = 0;
};

}  // namespace

double StepMemory::total() const { return variables + working + std::max(sums, outputs); }

double sums_of_rank(double sum_bytes, int ranks, int shards) {
  const SubtreesOfRanks subtrees(ranks, shards);
  // Sums that wait for their sibling in the tree, and sums that an owner receives.
  return sum_bytes * (subtrees.most_kept + subtrees.most_received / ranks);
}

double owned_sums_of_rank(double sum_bytes, double bucket_bytes, int ranks, int shards) {
  const double share = sum_bytes / ranks;
  const double totals =
      share * max_live_sums({0, shards / ranks});  // sums that wait for later shards
  // Buckets in flight, and the bucket that is being filled.
  const double open = std::min(sum_bytes, bucket_bytes * (kMaxOpenBuckets + 1));
  return totals + open + open / ranks * (ranks - 1);  // own and received buckets
}

StepMemory step_memory(const Program& program, const Plan& plan, int ranks,
                       const SessionOptions& options) {
  const MemoryReport memory = plan.memory();
  const int shards = program.shards().count;
  StepMemory result{.variables = static_cast<double>(memory.variables),
                    .optimizer = variable_bytes(program, true) / ranks,
                    .working = static_cast<double>(memory.arena),
                    .outputs = static_cast<double>(memory.outputs)};
  if (shards == 1) return result;
  // The plan of a shard contains only the parameters.
  result.variables = variable_bytes(program, false) + result.optimizer;
  result.outputs = sum_bytes(plan);
  const double share = result.outputs / ranks, others = ranks - 1;
  if (ranks > 1) result.working += share;
  if (sums_are_owned(options.gradients, options.memory_budget > 0, ranks)) {
    result.sums = owned_sums_of_rank(result.outputs, static_cast<double>(options.bucket_bytes),
                                     ranks, shards);
    result.sent = share * others * (shards / ranks) + share * others;
  } else {
    result.sums = sums_of_rank(result.outputs, ranks, shards);
    result.sent = share * others * (SubtreesOfRanks(ranks, shards).most_sent + 1);
  }
  return result;
}

}  // namespace weft::program
