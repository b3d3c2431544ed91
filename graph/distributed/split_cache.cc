#include "weft/graph/distributed/split_cache.h"

#include <algorithm>
#include <utility>

namespace weft {
namespace {

constexpr std::size_t kMaxPrograms = 8;

bool same(const Program& a, const Program& b) {
  const auto same_updates = [](const Updates& x, const Updates& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end());
  };
  return a.name() == b.name() && a.graph() == b.graph() && a.shards() == b.shards() &&
         a.precision() == b.precision() && a.is_batch_invariant() == b.is_batch_invariant() &&
         a.outputs() == b.outputs() && same_updates(a.given_updates(), b.given_updates());
}

}  // namespace

SplitCache::Entry& SplitCache::find(const Program& program, PlanCache& plans) {
  const std::size_t requirements = program.graph()->requirements().size();
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    if (it->requirements != requirements || !same(it->program, program)) continue;
    entries_.splice(entries_.begin(), entries_, it);
    return *it;
  }
  ShardedProgram parts = split_shards(program);
  OwnedStep owned = own_step(parts, world_.rank(), world_.size());
  const bool sums_owned = sums_owned_ && !owned.sums.empty();
  const std::size_t stages = parts.stages.size();
  entries_.push_front({.program = program,
                       .requirements = requirements,
                       .parts = std::move(parts),
                       .owned = std::move(owned),
                       .sums_owned = sums_owned,
                       .orders_of_sums = {stages, std::nullopt}});
  if (entries_.size() > kMaxPrograms) {
    const Entry& old = entries_.back();
    for (const ShardedProgram::Stage& s : old.parts.stages) plans.forget(*s.module.graph);
    for (const Module* part :
         {&old.parts.carry, &old.parts.step, &old.owned.compute_unit_scalars, &old.owned.step}) {
      if (part->graph != nullptr) plans.forget(*part->graph);
    }
    entries_.pop_back();
  }
  return entries_.front();
}

}  // namespace weft
