#include "weft/graph/distributed/shard_sums.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "weft/graph/distributed/sum_all_reduce.h"
#include "weft/graph/distributed/sum_reduce_scatter.h"

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

struct StageSums::Impl {
  Impl(const ShardedProgram::Stage& stage, const OwnedStep& step, int shards,
       const PartRunner& runner)
      : any_(!stage.sums.empty()),
        all_(stage, chosen(stage.sums, step.sums, false), shards, runner.sums_owned, runner) {
    SumNumbers owned = chosen(step.sums, stage.sums, true);
    if (owned.empty()) return;
    const auto make = runner.sums_owned ? make_owned_sums : make_whole_sums;
    owned_ = make({stage, std::move(owned), step, shards, runner});
  }

  void before(int shard, const SumNumbers& order, bool last, RunOptions& options) {
    if (!all_.empty()) all_.begin(shard);
    if (owned_) owned_->begin(shard, order, last);
    if (!any_) return;
    options.on_output = [this](const std::string& output, const Tensor& value) {
      take(output, value);
    };
  }
  // Handles an output of the running shard.
  void take(const std::string& output, const Tensor& value) {
    const std::optional<std::size_t> sum = shard_names::number_of_sum(output);
    if (!sum) return;  // rows, or a statistic
    if (all_.has(*sum)) {
      all_.take(*sum, value);
    } else {
      owned_->take(*sum, value);
    }
  }
  void after() {
    all_.end();
    if (owned_) owned_->end();
  }
  NamedTensors totals() {
    // Owned sums come first, because other ranks may wait for them while running their last shard.
    NamedTensors result;
    if (owned_) result = owned_->totals();
    if (all_.empty()) return result;
    for (auto& entry : all_.totals()) result.push_back(std::move(entry));
    return result;
  }

  const bool any_;
  SumAllReduce all_;
  std::unique_ptr<SumReduceScatter> owned_;  // null if the stage has no owned sums
};

StageSums::StageSums(const ShardedProgram::Stage& stage, const OwnedStep& step, int shards,
                     const PartRunner& runner)
    : impl_(std::make_unique<Impl>(stage, step, shards, runner)) {}
StageSums::~StageSums() = default;
void StageSums::before(int shard, const std::vector<std::size_t>& order, bool last,
                       RunOptions& options) {
  impl_->before(shard, order, last, options);
}
void StageSums::after() { impl_->after(); }
NamedTensors StageSums::totals() { return impl_->totals(); }

}  // namespace weft
