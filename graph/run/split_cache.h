// Programs with shards, each taken apart once.
#pragma once

#include <cstddef>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "weft/core/world/world.h"
#include "weft/graph/distribute/gradient_sums.h"
#include "weft/graph/distribute/owned_step.h"
#include "weft/graph/distribute/split_shards.h"
#include "weft/graph/run/plan_cache.h"

namespace WEFT_API weft {

class SplitCache {
 public:
  struct Entry {
    Program program;
    std::size_t requirements;  // of its graph: what is required later must be checked, too
    ShardedProgram parts;
    OwnedStep owned;  // of this rank
    bool sums_owned;  // GradientSums
    /// By stage, once it is known: PartRunner::order_of_sums.
    std::vector<std::optional<std::vector<std::size_t>>> orders_of_sums;
    bool agreed = false;  // all ranks of the world have this program
  };
  SplitCache(World world, bool sums_owned) : world_(std::move(world)), sums_owned_(sums_owned) {}

  /// The entry of a program with shards, valid until the next call. Where old ones make room,
  /// `plans` forgets them. Throws as split_shards().
  Entry& find(const Program& program, PlanCache& plans);

 private:
  const World world_;
  const bool sums_owned_;     // where a rank owns anything
  std::list<Entry> entries_;  // most recent first
};

}  // namespace weft
