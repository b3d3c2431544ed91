// Gradient sums that are stored on their owners only (GradientSums::owned, ZeRO-2).
#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "weft/core/world/gradient_sums.h"
#include "weft/graph/distributed/sum_reduce_scatter.h"
#include "weft/graph/engine/parallel_copy.h"

namespace weft {
namespace {

// In each turn, every rank computes one shard, and the ranks exchange its sums bucket by bucket.
// The sums are laid out in the order in which a shard completes them, and all ranks send the
// buckets in this order. Therefore only a few buckets are filled at a time, and waits cannot form a
// cycle: a rank that waits for a bucket never waits for a rank that is waiting for a later bucket.
class OwnedSums final : public SumReduceScatter {
 public:
  explicit OwnedSums(SumRequest wanted)
      : stage_(wanted.stage),
        step_(wanted.step),
        context_(wanted.context),
        sums_(wanted.sums.begin(), wanted.sums.end()) {}

  void begin(int shard, const SumNumbers& order, bool) override {
    turn_ = shard / context_.world.size();
    begun_ = false;
    if (layout_) return;
    SumNumbers in_order;
    std::copy_if(order.begin(), order.end(), std::back_inserter(in_order),
                 [&](std::size_t sum) { return sums_.contains(sum); });
    layout_.emplace(stage_, std::move(in_order));
    owners_ = owners_of(step_, *layout_);
  }

  void take(std::size_t sum, const Tensor& value) override {
    begin_turn();
    const std::size_t begin = layout_->offset(sum);
    for_buckets(*exchange_, *layout_, sum, [&](std::size_t b) {
      const std::size_t from = std::max(begin, exchange_->begin_of(b));
      const std::size_t to = std::min(begin + value.bytes(), exchange_->begin_of(b + 1));
      parallel_copy(bytes_of(b).data() + (from - exchange_->begin_of(b)),
                    value.raw() + (from - begin), to - from, context_.workers);
      --missing_[b];
      give_complete();
    });
  }

  void end() override {}

  NamedTensors totals() override {
    finish_turn();
    return owned_pieces(step_, *layout_, context_.world.rank(), stack_->block(0),
                        [this](std::size_t byte) { return place_of(byte); });
  }

 private:
  struct Bucket {
    // Non-null from the time when data is first written to the bucket until it is closed.
    std::shared_ptr<Buffer> bytes = {};
    std::size_t place = 0;  // offset within the bytes that this rank owns
  };

  // Returns the offset of a byte within the bytes that this rank owns.
  std::size_t place_of(std::size_t byte) const {
    if (byte == layout_->bytes()) return 0;  // a sum without elements
    const std::size_t b = exchange_->bucket_of(byte);
    return buckets_[b].place + (byte - exchange_->begin_of(b));
  }

  // Called at the first sum of a turn. Until then, the remaining buckets of the previous turn
  // are in transit.
  void begin_turn() {
    if (begun_) return;
    begun_ = true;
    finish_turn();
    SumBuckets buckets = buckets_of(*layout_, context_);
    buckets.by_bucket = true;
    exchange_.emplace(context_.world, context_.world.size(), owners_, layout_->bytes(), buckets,
                      context_.memory);
    if (buckets_.empty()) make_buckets();
    missing_ = sums_in_buckets(*exchange_, *layout_);
    stack_->begin({.first = turn_, .count = 1});
    unfinished_ = true;
    next_ = 0;
    give_complete();
  }

  void make_buckets() {
    buckets_.resize(exchange_->buckets());
    std::size_t owned = 0;
    for (std::size_t b = 0; b < buckets_.size(); ++b) {
      largest_ = std::max(largest_, exchange_->bytes_of(b));
      buckets_[b].place = owned;
      if (exchange_->mine(b)) owned += exchange_->bytes_of(b);
    }
    stack_.emplace(*layout_, owned, context_);
  }

  // All buckets use buffers of the same size, so that each buffer can be reused for any other
  // bucket.
  std::span<std::byte> bytes_of(std::size_t b) {
    Bucket& bucket = buckets_[b];
    if (!bucket.bytes) bucket.bytes = context_.memory(largest_);
    return {bucket.bytes->data(), exchange_->bytes_of(b)};
  }

  void give_complete() {
    for (; next_ < buckets_.size() && missing_[next_] == 0; ++next_) {
      const std::span<std::byte> own = bytes_of(next_);
      exchange_->submit(next_, {&own, 1});
      close(context_.overlap ? kMaxOpenBuckets : 0);
    }
  }

  void close(std::size_t max_open) {
    exchange_->close(adder_of(*layout_, context_.workers), max_open, [&](std::size_t b) {
      if (exchange_->mine(b)) stack_->add(buckets_[b].place, exchange_->begin_of(b), bytes_of(b));
      buckets_[b].bytes.reset();
    });
  }

  void finish_turn() {
    if (!std::exchange(unfinished_, false)) return;
    close(0);
    stack_->end();
  }

  const ShardedProgram::Stage& stage_;
  const OwnedStep& step_;
  const SumContext& context_;
  const std::unordered_set<std::size_t> sums_;
  std::optional<SumLayout> layout_;  // set when the first shard begins
  Owners owners_;
  int turn_ = 0;
  bool begun_ = false;                         // this turn has begun
  bool unfinished_ = false;                    // this turn or the previous one is unfinished
  std::optional<TreeReduceScatter> exchange_;  // exchange of this turn
  std::vector<Bucket> buckets_;
  std::vector<std::size_t> missing_;  // indexed by bucket: number of incomplete sums in this turn
  std::size_t largest_ = 0;           // bytes of the largest bucket
  std::size_t next_ = 0;              // next bucket to be sent
  std::optional<SumStack> stack_;     // totals over the turns, for the bytes that this rank owns
};

}  // namespace

std::unique_ptr<SumReduceScatter> make_owned_sums(SumRequest wanted) {
  return std::make_unique<OwnedSums>(std::move(wanted));
}

}  // namespace weft
