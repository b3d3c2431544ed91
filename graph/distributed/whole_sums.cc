// Gradient sums over all shards of a rank, sent to their owners once per step (GradientSums::whole,
// ZeRO-1).
#include <optional>
#include <utility>
#include <vector>

#include "weft/graph/distributed/sum_reduce_scatter.h"

namespace weft {
namespace {

class WholeSums final : public SumReduceScatter {
 public:
  explicit WholeSums(SumRequest wanted)
      : step_(wanted.step),
        context_(wanted.context),
        layout_(wanted.stage, std::move(wanted.sums)),
        stack_(layout_, layout_.bytes(), context_) {}

  void begin(int shard, const SumNumbers&, bool last) override {
    stack_.begin({.first = shard, .count = 1});
    if (!last) return;
    exchange_.emplace(context_.world, context_.shards, owners_of(step_, layout_), layout_.bytes(),
                      buckets_of(layout_, context_), context_.memory);
    missing_ = sums_in_buckets(*exchange_, layout_);
    for (std::size_t b = 0; b < missing_.size(); ++b) {
      if (missing_[b] == 0) submit(b);
    }
  }

  void take(std::size_t sum, const Tensor& value) override {
    const std::size_t begin = layout_.offset(sum);
    stack_.add(begin, begin, {value.raw(), value.bytes()});
    if (!exchange_ || !context_.overlap) return;
    for_buckets(*exchange_, layout_, sum, [&](std::size_t bucket) {
      if (--missing_[bucket] == 0) submit(bucket);
    });
    exchange_->progress(adder_of(layout_, context_.workers));
  }

  void end() override { stack_.end(); }

  NamedTensors totals() override {
    for (std::size_t b = 0; b < missing_.size() && !context_.overlap; ++b) {
      if (missing_[b] > 0) submit(b);
    }
    exchange_->finish(adder_of(layout_, context_.workers));
    return owned_pieces(step_, layout_, context_.world.rank(), stack_.block(0),
                        [](std::size_t byte) { return byte; });
  }

 private:
  // Returns this rank's sums in a bucket. While the last shard is running, this is the memory in
  // which the sums will be completed.
  std::vector<std::span<std::byte>> own_in(std::size_t bucket) const {
    std::vector<std::span<std::byte>> own;
    for (std::size_t i = 0; i < stack_.size(); ++i)
      own.push_back(
          stack_.bytes(i).subspan(exchange_->begin_of(bucket), exchange_->bytes_of(bucket)));
    return own;
  }
  void submit(std::size_t bucket) { exchange_->submit(bucket, own_in(bucket)); }

  const OwnedStep& step_;
  const SumContext& context_;
  const SumLayout layout_;
  SumStack stack_;
  std::optional<TreeReduceScatter> exchange_;  // set when the last shard begins
  std::vector<std::size_t> missing_;           // indexed by bucket: number of incomplete sums
};

}  // namespace

std::unique_ptr<SumReduceScatter> make_whole_sums(SumRequest wanted) {
  return std::make_unique<WholeSums>(std::move(wanted));
}

}  // namespace weft
