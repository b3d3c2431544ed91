#include "weft/graph/run/split_cache.h"

#include <algorithm>

namespace weft {
namespace {

constexpr std::size_t kMostPrograms = 8;

bool same(const Program& a, const Program& b) {
  const auto same_updates = [](const Updates& x, const Updates& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end());
  };
  return a.name() == b.name() && a.graph() == b.graph() && a.shards() == b.shards() &&
         a.precision() == b.precision() && a.outputs() == b.outputs() &&
         same_updates(a.given_updates(), b.given_updates());
}

}  // namespace

SplitCache::Entry& SplitCache::find(const Program& program, PlanCache& plans) {
  const std::size_t requirements = program.graph()->requirements().size();
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    if (it->requirements != requirements || !same(it->program, program)) continue;
    entries_.splice(entries_.begin(), entries_, it);
    return *it;
  }
  entries_.push_front({program, requirements, split_shards(program)});
  if (entries_.size() > kMostPrograms) {
    const ShardedProgram& old = entries_.back().parts;
    for (const ShardedProgram::Stage& stage : old.stages) plans.forget(*stage.module.graph);
    plans.forget(*old.carry.graph);
    plans.forget(*old.step.graph);
    entries_.pop_back();
  }
  return entries_.front();
}

}  // namespace weft
