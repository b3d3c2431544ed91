#include "weft/models/program/limits/step_memory.h"

#include <algorithm>

#include "weft/models/program/limits/step_cost.h"

namespace weft::program {
namespace {

/// Returns the size in bytes of a program's variables on one rank, including the rank's partition
/// of the optimizer state. Caches, which have variable sizes, do not occur in training.
double variable_bytes(const Program& program, int ranks) {
  double bytes = 0;
  for (const Variable& variable : program.variables()) {
    const ValueType& type = variable.value().type();
    const int owners = variable.info().kind == VariableKind::optimizer ? ranks : 1;
    bytes += static_cast<double>(type.shape.numel().constant()) *
             static_cast<double>(dtype_size(type.dtype)) / owners;
  }
  return bytes;
}

}  // namespace

double StepMemory::total() const { return variables + working + std::max(sums, outputs); }

StepMemory step_memory(const Program& program, const Plan& plan, const SessionOptions& options) {
  const MemoryReport memory = plan.memory();
  const int shards = program.shards().count, ranks = options.world.size();
  StepMemory result{.variables = static_cast<double>(memory.variables),
                    .working = static_cast<double>(memory.arena),
                    .outputs = static_cast<double>(memory.outputs)};
  if (shards == 1) return result;
  // The plan of a shard contains only the parameters.
  result.variables = variable_bytes(program, ranks);
  const ShardSums sums = shard_sums(plan);
  result.outputs = sums.all;
  if (ranks > 1) result.working += sums.all / ranks;
  result.sums =
      options.sums_are_owned()
          ? owned_sums_of_rank(sums.all, static_cast<double>(options.bucket_bytes), ranks, shards)
          : sums_of_rank(sums.all, sums.early, ranks, shards);
  return result;
}

}  // namespace weft::program
