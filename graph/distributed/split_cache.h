// Cache of sharded programs that have been split into their parts.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "weft/core/world/gradient_sums.h"
#include "weft/core/world/world.h"
#include "weft/graph/distributed/owned_step.h"
#include "weft/graph/distributed/split_shards.h"
#include "weft/graph/engine/plan_cache.h"

namespace WEFT_API weft {

class SplitCache {
 public:
  struct Entry {
    Program program;
    /// Number of requirements of the program's graph. If requirements are added later, they must be
    /// checked too.
    std::size_t requirements;
    ShardedProgram parts;
    OwnedStep owned;  // the part of the step that this rank runs
    bool sums_owned;  // GradientSums::owned is in effect
    /// Results of StepRunner::order_of_sums() by stage, once known.
    std::vector<std::optional<std::vector<std::size_t>>> orders_of_sums;
    bool agreed = false;  // true if all ranks have been found to run the same program
  };
  SplitCache(World world, bool sums_owned) : world_(std::move(world)), sums_owned_(sums_owned) {}

  /// Returns the entry of a sharded program. The entry is valid until the next call. If an old
  /// entry is evicted, its plans are removed from `plans`. Throws like split_shards().
  Entry& find(const Program& program, PlanCache& plans);

 private:
  const World world_;
  const bool sums_owned_;     // use GradientSums::owned if ranks own anything
  std::list<Entry> entries_;  // most recent first
};

}  // namespace weft
