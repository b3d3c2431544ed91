#include "weft/graph/distributed/stage_sums.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>

namespace weft {
namespace {

// Returns the elements of `list` that are in `others` (or, if `in_others` is false, the elements
// that are not), in the order of `list`.
SumNumbers chosen(const SumNumbers& list, const SumNumbers& others, bool in_others) {
  const std::unordered_set<std::size_t> set(others.begin(), others.end());
  SumNumbers result;
  std::copy_if(list.begin(), list.end(), std::back_inserter(result),
               [&](std::size_t i) { return set.contains(i) == in_others; });
  return result;
}

}  // namespace

StageSums::StageSums(const ShardedProgram::Stage& stage, const OwnedStep& step,
                     const SumContext& context)
    : any_(!stage.sums.empty()), all_(stage, chosen(stage.sums, step.sums, false), context) {
  SumNumbers owned = chosen(step.sums, stage.sums, true);
  if (owned.empty()) return;
  const auto make = context.owned ? make_owned_sums : make_whole_sums;
  owned_ = make({stage, std::move(owned), step, context});
}

void StageSums::before(int shard, const SumNumbers& order, bool last, RunOptions& options) {
  if (!all_.empty()) all_.begin(shard);
  if (owned_) owned_->begin(shard, order, last);
  if (!any_) return;
  options.on_output = [this](const std::string& output, const Tensor& value) {
    take(output, value);
  };
}

void StageSums::take(const std::string& output, const Tensor& value) {
  const std::optional<std::size_t> sum = shard_names::number_of_sum(output);
  if (!sum) return;  // rows, or a statistic
  if (all_.has(*sum)) {
    all_.take(*sum, value);
  } else {
    owned_->take(*sum, value);
  }
}

void StageSums::after() {
  all_.end();
  if (owned_) owned_->end();
}

NamedTensors StageSums::totals() {
  // Owned sums come first, because other ranks may wait for them while running their last shard.
  NamedTensors result;
  if (owned_) result = owned_->totals();
  if (all_.empty()) return result;
  for (auto& entry : all_.totals()) result.push_back(std::move(entry));
  return result;
}

}  // namespace weft
