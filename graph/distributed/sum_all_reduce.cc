#include "weft/graph/distributed/sum_all_reduce.h"

#include <utility>

#include "weft/core/world/tree_sum.h"
#include "weft/graph/engine/parallel_copy.h"

namespace weft {

SumAllReduce::SumAllReduce(const ShardedProgram::Stage& stage, SumNumbers sums,
                           const SumContext& context)
    : context_(context),
      layout_(stage, std::move(sums)),
      stack_(layout_, layout_.bytes(), context) {}

void SumAllReduce::begin(int shard) {
  if (context_.owned) {
    turns_.push_back(context_.memory(layout_.bytes()));
  } else {
    stack_.begin({.first = shard, .count = 1});
  }
}

void SumAllReduce::take(std::size_t sum, const Tensor& value) {
  const std::size_t begin = layout_.offset(sum);
  if (context_.owned) {
    parallel_copy(turns_.back()->data() + begin, value.raw(), value.bytes(), context_.workers);
  } else {
    stack_.add(begin, begin, {value.raw(), value.bytes()});
  }
}

NamedTensors SumAllReduce::totals() {
  const auto add = adder_of(layout_, context_.workers);
  const int ranks = context_.world.size();
  for (std::size_t i = 0; i < turns_.size(); ++i) {
    const std::span<std::byte> own{turns_[i]->data(), layout_.bytes()};
    const Subtree shard{.first = context_.world.rank(), .count = 1};
    sum_over_ranks(context_.world, ranks, {{shard, own}}, add, context_.memory);
    stack_.begin({.first = static_cast<int>(i), .count = 1});
    stack_.add(0, 0, own);
    stack_.end();
  }
  if (!context_.owned) {
    std::vector<SubtreeSums> own;
    for (std::size_t i = 0; i < stack_.size(); ++i)
      own.push_back({stack_.subtree(i), stack_.bytes(i)});
    sum_over_ranks(context_.world, context_.shards, own, add, context_.memory);
  }
  NamedTensors result;
  for (const std::size_t sum : layout_.sums()) {
    result.emplace_back(shard_names::sum(sum), Tensor::view(layout_.dtype(sum), layout_.sizes(sum),
                                                            stack_.block(0), layout_.offset(sum)));
  }
  return result;
}

}  // namespace weft
