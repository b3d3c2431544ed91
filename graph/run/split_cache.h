// Programs with shards, each taken apart once.
#pragma once

#include <list>

#include "weft/core/world/world.h"
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
    OwnedStep owned;      // of this rank
    bool agreed = false;  // all ranks of the world have this program
  };
  /// The entry of a program with shards, valid until the next call. Where old ones make room,
  /// `plans` forgets them. Throws as split_shards().
  Entry& find(const Program& program, const World& world, PlanCache& plans);

 private:
  std::list<Entry> entries_;  // most recent first
};

}  // namespace weft
