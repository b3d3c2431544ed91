// Programs with shards, each taken apart once.
#pragma once

#include <list>

#include "weft/graph/distribute/split_shards.h"
#include "weft/graph/run/plan_cache.h"

namespace WEFT_API weft {

class SplitCache {
 public:
  /// The parts of a program with shards, valid until the next call. Where old ones make room,
  /// `plans` forgets them. Throws as split_shards().
  const ShardedProgram& parts(const Program& program, PlanCache& plans);

 private:
  struct Entry {
    Program program;
    std::size_t requirements;  // of its graph: what is required later must be checked, too
    ShardedProgram parts;
  };
  std::list<Entry> entries_;  // most recent first
};

}  // namespace weft
