#include "weft/graph/run/shard_sums.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "weft/core/rounding.h"
#include "weft/core/world/tree_sum.h"
#include "weft/graph/run/sum_layout.h"

namespace weft {
namespace {

// Some of a stage's sums, one behind the other in memory: those of this rank's shards are added as
// they come.
class SumBlock {
 public:
  SumBlock(const ShardedProgram::Stage& stage, const std::vector<std::size_t>& sums,
           const PartRunner& runner)
      : runner_(runner), sums_(sums), layout_(types_of(stage, sums), stage.module.graph->ops()) {}

  bool empty() const { return sums_.empty(); }

  /// Adds tensors for the sums of the next shard.
  void next(NamedTensors& into) {
    next_ = runner_.memory(layout_.bytes());
    for (auto& entry : named(next_)) into.push_back(std::move(entry));
  }
  /// Adds the sums of a shard to those before.
  void push(int shard) {
    const std::size_t more = static_cast<std::size_t>(tree_.push({.first = shard, .count = 1}));
    add_to(more, 0, layout_.bytes());
    keep(more);
  }

 protected:
  static std::span<std::byte> bytes_of(Buffer& buffer) { return {buffer.data(), buffer.bytes()}; }

  // The sums of the shard that ran last, in a range of bytes, to the `more` topmost of the stack.
  void add_to(std::size_t more, std::size_t begin, std::size_t end) {
    std::span<std::byte> sum = bytes_of(*next_).subspan(begin, end - begin);
    for (std::size_t i = 0; i < more && !sum.empty(); ++i) {
      const std::span<std::byte> lower =
          bytes_of(*stack_[stack_.size() - 1 - i]).subspan(begin, end - begin);
      layout_.add(begin, lower, sum, runner_.workers);
      sum = lower;
    }
  }
  // What the `more` topmost became is one entry.
  void keep(std::size_t more) {
    if (more == 0) stack_.push_back(std::move(next_));
    for (; more > 1; --more) stack_.pop_back();
  }
  std::vector<SubtreeSums> own() const {
    std::vector<SubtreeSums> sums;
    for (std::size_t i = 0; i < stack_.size(); ++i)
      sums.push_back({tree_.stack()[i], bytes_of(*stack_[i])});
    return sums;
  }
  NamedTensors named(const std::shared_ptr<Buffer>& block) const {
    const std::vector<Tensor> tensors = layout_.tensors(block);
    NamedTensors result;
    for (std::size_t i = 0; i < sums_.size(); ++i)
      result.emplace_back(shard_names::sum(sums_[i]), tensors[i]);
    return result;
  }

  const PartRunner& runner_;
  const std::vector<std::size_t> sums_;  // their numbers
  const SumLayout layout_;
  TreeFold tree_;
  std::vector<std::shared_ptr<Buffer>> stack_;
  std::shared_ptr<Buffer> next_;

 private:
  static std::vector<ValueType> types_of(const ShardedProgram::Stage& stage,
                                         const std::vector<std::size_t>& sums) {
    std::vector<ValueType> types;
    for (const std::size_t i : sums) {
      const auto at = std::find(stage.sums.begin(), stage.sums.end(), i) - stage.sums.begin();
      types.push_back(stage.module.program.outputs()[static_cast<std::size_t>(at)].second.type());
    }
    return types;
  }
};

// Sums that all ranks need.
class SharedSums : public SumBlock {
 public:
  using SumBlock::SumBlock;
  /// After all shards of all ranks.
  NamedTensors totals(int shards) {
    const auto add = [this](std::size_t begin, std::span<std::byte> into,
                            std::span<const std::byte> x) {
      layout_.add(begin, into, x, runner_.workers);
    };
    sum_over_ranks(runner_.world, shards, own(), add, runner_.memory);
    return named(stack_.at(0));
  }
};

// Sums that their owners alone need. While the last shard of this rank runs, they are on their way
// as soon as they are complete.
class OwnedSums : public SumBlock {
 public:
  OwnedSums(const ShardedProgram::Stage& stage, const std::vector<std::size_t>& sums,
            const PartRunner& runner)
      : SumBlock(stage, sums, runner) {
    for (const std::size_t i : stage.early) {
      if (const std::size_t place = place_of(i); place < sums_.size())
        early_.push_back({layout_.offset(place), layout_.offset(place) + layout_.bytes(place)});
    }
  }

  /// Behind next(): the last shard of this rank is about to run.
  void begin_last(int shard, int shards, const OwnedStep& step) {
    more_ = static_cast<std::size_t>(tree_.push({.first = shard, .count = 1}));
    // Memory of the sums as they will be: that of the last shard's is, or becomes, the last entry.
    std::vector<SubtreeSums> own;
    const std::size_t kept = stack_.size() - more_;
    for (std::size_t i = 0; i < tree_.stack().size(); ++i) {
      Buffer& buffer = i < kept || more_ > 0 ? *stack_[i] : *next_;
      own.push_back({tree_.stack()[i], bytes_of(buffer)});
    }
    constexpr std::size_t kMostBuckets = 4096;  // besides one for every change of the owner
    const std::size_t least = round_up(divide_up(layout_.bytes(), kMostBuckets), kTensorAlignment);
    const SumBuckets buckets{.bytes = std::max(runner_.bucket_bytes, least),
                             .first_channel = kFirstBucketChannel,
                             .early = early_};
    exchange_.emplace(runner_.world, shards, owners_of(step), std::move(own), buckets,
                      runner_.memory);
    missing_.assign(exchange_->buckets(), 0);
    for (std::size_t i = 0; i < sums_.size(); ++i)
      for_buckets(i, [&](std::size_t bucket) { ++missing_[bucket]; });
    for (std::size_t b = 0; b < missing_.size(); ++b) {
      if (missing_[b] == 0) give(b);
    }
  }
  /// An output of the last shard is complete.
  void complete(const std::string& output, const Tensor& value) {
    if (const auto early = shard_names::number_of_early(output))
      send_early(place_of(*early), value);
    const std::optional<std::size_t> sum = shard_names::number_of_sum(output);
    if (!sum || place_of(*sum) == sums_.size()) return;  // a statistic, or one that all need
    for_buckets(place_of(*sum), [&](std::size_t bucket) {
      if (--missing_[bucket] == 0) give(bucket);
    });
    exchange_->progress(adder());
  }
  /// Instead of complete(), behind the last shard.
  void complete_all() {
    for (std::size_t b = 0; b < missing_.size(); ++b) {
      if (missing_[b] > 0) give(b);
    }
  }
  /// Behind the last shard: the elements that this rank owns.
  NamedTensors totals(const OwnedStep& step) {
    keep(more_);
    exchange_->finish(adder());
    const std::vector<Tensor> whole = layout_.tensors(stack_.at(0));
    NamedTensors result;
    for (const OwnedPiece& piece : step.pieces[static_cast<std::size_t>(runner_.world.rank())]) {
      for (const std::size_t sum : step.units[piece.unit].sums)
        result.emplace_back(shard_names::sum(sum), part_of(whole[place_of(sum)], piece));
    }
    return result;
  }

 private:
  std::function<void(std::size_t, std::span<std::byte>, std::span<const std::byte>)> adder() const {
    return [this](std::size_t begin, std::span<std::byte> into, std::span<const std::byte> x) {
      layout_.add(begin, into, x, runner_.workers);
    };
  }
  std::size_t place_of(std::size_t sum) const {
    return static_cast<std::size_t>(std::find(sums_.begin(), sums_.end(), sum) - sums_.begin());
  }
  Owners owners_of(const OwnedStep& step) const {
    using Owned = std::pair<const OwnedPiece*, int>;
    std::vector<Owned> owned;
    for (std::size_t r = 0; r < step.pieces.size(); ++r) {
      for (const OwnedPiece& piece : step.pieces[r]) owned.emplace_back(&piece, r);
    }
    std::sort(owned.begin(), owned.end(), [](const Owned& a, const Owned& b) {
      return std::pair(a.first->unit, a.first->begin) < std::pair(b.first->unit, b.first->begin);
    });
    Owners owners;
    for (const auto& [piece, rank] : owned) {
      if (!owners.empty() && owners.back().owner == rank) continue;
      const std::size_t sum = place_of(step.units[piece->unit].sums[0]);
      const auto before = static_cast<std::size_t>(piece->begin);
      owners.push_back({layout_.offset(sum) + before * dtype_size(layout_.dtype(sum)), rank});
    }
    return owners;
  }
  // The buckets that sum i lies in.
  template <class F>
  void for_buckets(std::size_t i, F&& body) const {
    const std::size_t end = layout_.offset(i) + layout_.bytes(i);
    for (std::size_t b = exchange_->bucket_of(layout_.offset(i));
         b < exchange_->buckets() && exchange_->begin_of(b) < end; ++b)
      body(b);
  }
  // What sum i of the last shard nearly is.
  void send_early(std::size_t i, const Tensor& value) {
    if (i == sums_.size()) return;
    kept_.push_back(value.buffer());
    const std::span<const std::byte> all{value.raw(), value.bytes()};
    for_buckets(i, [&](std::size_t bucket) {
      if (!exchange_->takes_early(bucket)) return;
      const std::size_t begin = exchange_->begin_of(bucket), end = exchange_->begin_of(bucket + 1);
      std::span<const std::byte> sum = all.subspan(begin - layout_.offset(i), end - begin);
      std::shared_ptr<Buffer> total;
      for (std::size_t k = 0; k < more_; ++k) {
        const std::shared_ptr<Buffer> next = Buffer::allocate(sum.size());
        std::memcpy(next->data(), stack_[stack_.size() - 1 - k]->data() + begin, sum.size());
        layout_.add(begin, bytes_of(*next).first(sum.size()), sum, runner_.workers);
        sum = bytes_of(*next).first(sum.size());
        total = next;
      }
      if (total) kept_.push_back(total);
      exchange_->give_early(bucket, sum);
    });
  }
  void give(std::size_t bucket) {
    add_to(more_, exchange_->begin_of(bucket), exchange_->begin_of(bucket + 1));
    exchange_->give(bucket);
  }
  static Tensor part_of(const Tensor& whole, const OwnedPiece& piece) {
    if (piece.whole) return whole;
    return Tensor::view(
        whole.dtype(), {piece.end - piece.begin}, whole.buffer(),
        whole.byte_offset() + static_cast<std::size_t>(piece.begin) * dtype_size(whole.dtype()));
  }

  std::vector<ByteRange> early_;
  std::vector<std::shared_ptr<Buffer>> kept_;  // of early versions
  std::optional<OwnerSums> exchange_;
  std::vector<std::size_t> missing_;  // by bucket: sums that are not complete
  std::size_t more_ = 0;              // entries that the last shard's sums are added to
};

using Numbers = std::vector<std::size_t>;
// Those of `list` that are in `others`, or that are not, in the order of `list`.
Numbers chosen(const Numbers& list, const Numbers& others, bool in_others) {
  const std::unordered_set<std::size_t> set(others.begin(), others.end());
  Numbers result;
  std::copy_if(list.begin(), list.end(), std::back_inserter(result),
               [&](std::size_t i) { return set.contains(i) == in_others; });
  return result;
}

}  // namespace

struct StageSums::Impl {
  Impl(const ShardedProgram::Stage& stage, const OwnedStep& step, int shards,
       const PartRunner& runner)
      : step_(step),
        shards_(shards),
        overlap_(runner.overlap),
        all_(stage, chosen(stage.sums, step.sums, false), runner),
        owned_(stage, chosen(step.sums, stage.sums, true), runner) {}

  void before(int shard, bool last, RunOptions& options) {
    if (!all_.empty()) all_.next(options.into);
    if (owned_.empty()) return;
    owned_.next(options.into);
    if (!last) return;
    owned_.begin_last(shard, shards_, step_);
    if (!overlap_) return;
    options.on_output = [this](const std::string& output, const Tensor& value) {
      owned_.complete(output, value);
    };
  }
  void after(int shard, bool last) {
    if (!all_.empty()) all_.push(shard);
    if (!owned_.empty() && !last) owned_.push(shard);
  }
  NamedTensors totals() {
    if (!owned_.empty() && !overlap_) owned_.complete_all();
    NamedTensors result;
    if (!all_.empty()) result = all_.totals(shards_);
    if (owned_.empty()) return result;
    for (auto& entry : owned_.totals(step_)) result.push_back(std::move(entry));
    return result;
  }

  const OwnedStep& step_;
  const int shards_;
  const bool overlap_;
  SharedSums all_;
  OwnedSums owned_;
};

StageSums::StageSums(const ShardedProgram::Stage& stage, const OwnedStep& step, int shards,
                     const PartRunner& runner)
    : impl_(std::make_unique<Impl>(stage, step, shards, runner)) {}
StageSums::~StageSums() = default;
void StageSums::before(int shard, bool last, RunOptions& options) {
  impl_->before(shard, last, options);
}
void StageSums::after(int shard, bool last) { impl_->after(shard, last); }
NamedTensors StageSums::totals() { return impl_->totals(); }

}  // namespace weft
