#include "weft/graph/run/shard_sums.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "weft/core/rounding.h"
#include "weft/core/world/tree_sum.h"
#include "weft/graph/run/parallel_copy.h"
#include "weft/graph/run/sum_layout.h"

namespace weft {
namespace {

using Numbers = std::vector<std::size_t>;

// Where each number of a list stands.
using Positions = std::unordered_map<std::size_t, std::size_t>;
Positions positions(const Numbers& list) {
  Positions result;
  for (std::size_t i = 0; i < list.size(); ++i) result.emplace(list[i], i);
  return result;
}

// Some of a stage's sums, one behind the other in memory: those of this rank's shards are added as
// they come.
class SumBlock {
 public:
  SumBlock(const ShardedProgram::Stage& stage, const std::vector<std::size_t>& sums,
           const PartRunner& runner)
      : runner_(runner),
        sums_(sums),
        places_(positions(sums)),
        layout_(types_of(stage, sums), stage.module.graph->ops()) {}

  bool empty() const { return sums_.empty(); }

  /// A shard is about to run.
  void begin(int shard) {
    more_ = static_cast<std::size_t>(tree_.push({.first = shard, .count = 1}));
    if (more_ == 0) stack_.push_back(runner_.memory(layout_.bytes()));
  }
  /// A sum of this shard, by place, as soon as it is there: nobody keeps it.
  void add(std::size_t place, const Tensor& value) {
    const std::size_t begin = layout_.offset(place);
    std::span<const std::byte> sum{value.raw(), value.bytes()};
    if (more_ == 0) {
      std::byte* const to = part_of(stack_.size() - 1, begin, sum.size()).data();
      parallel_copy(to, sum.data(), sum.size(), runner_.workers);
    }
    for (std::size_t i = 1; i <= more_; ++i) {
      const std::span<std::byte> lower = part_of(stack_.size() - i, begin, sum.size());
      layout_.add(begin, lower, sum, runner_.workers);
      sum = lower;
    }
  }
  /// It has run: what the topmost entries have become is one.
  void end() {
    for (; more_ > 1; --more_) stack_.pop_back();
    more_ = 0;
  }
  /// Whether sum `i` of the stage is one of these, and where.
  bool has(std::size_t i) const { return places_.contains(i); }
  std::size_t place_of(std::size_t i) const { return places_.at(i); }

 protected:
  static std::span<std::byte> bytes_of(Buffer& buffer) { return {buffer.data(), buffer.bytes()}; }
  std::span<std::byte> part_of(std::size_t entry, std::size_t begin, std::size_t size) const {
    return bytes_of(*stack_[entry]).subspan(begin, size);
  }
  std::function<void(std::size_t, std::span<std::byte>, std::span<const std::byte>)> adder() const {
    return [this](std::size_t begin, std::span<std::byte> into, std::span<const std::byte> x) {
      layout_.add(begin, into, x, runner_.workers);
    };
  }
  // The sums that are left; while a shard runs, those that will be.
  std::vector<SubtreeSums> own() const {
    std::vector<SubtreeSums> sums;
    for (std::size_t i = 0; i < tree_.stack().size(); ++i)
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
  const Positions places_;
  const SumLayout layout_;
  TreeFold tree_;
  std::vector<std::shared_ptr<Buffer>> stack_;
  std::size_t more_ = 0;  // topmost entries that the shard that runs is added to; 0: it is one more

 private:
  static std::vector<ValueType> types_of(const ShardedProgram::Stage& stage,
                                         const std::vector<std::size_t>& sums) {
    const Positions outputs = positions(stage.sums);  // the first ones
    std::vector<ValueType> types;
    for (const std::size_t i : sums)
      types.push_back(stage.module.program.outputs()[outputs.at(i)].second.type());
    return types;
  }
};

// Sums that all ranks need.
class SharedSums : public SumBlock {
 public:
  using SumBlock::SumBlock;
  /// After all shards of all ranks.
  NamedTensors totals(int shards) {
    sum_over_ranks(runner_.world, shards, own(), adder(), runner_.memory);
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
      if (!has(i)) continue;
      const std::size_t begin = layout_.offset(place_of(i));
      early_.push_back({begin, begin + layout_.bytes(place_of(i))});
    }
  }

  /// Behind begin(): the shard that is about to run is the last one of this rank.
  void begin_last(int shards, const OwnedStep& step) {
    constexpr std::size_t kMostBuckets = 4096;  // besides one for every change of the owner
    const std::size_t least = round_up(divide_up(layout_.bytes(), kMostBuckets), kTensorAlignment);
    const SumBuckets buckets{.bytes = std::max(runner_.bucket_bytes, least),
                             .first_channel = kFirstBucketChannel,
                             .early = early_};
    exchange_.emplace(runner_.world, shards, owners_of(step), own(), buckets, runner_.memory);
    missing_.assign(exchange_->buckets(), 0);
    for (std::size_t i = 0; i < sums_.size(); ++i)
      for_buckets(i, [&](std::size_t bucket) { ++missing_[bucket]; });
    for (std::size_t b = 0; b < missing_.size(); ++b) {
      if (missing_[b] == 0) exchange_->give(b);
    }
  }
  /// Sum `i` of the last shard is added: what is complete goes on its way.
  void give_complete(std::size_t i) {
    for_buckets(place_of(i), [&](std::size_t bucket) {
      if (--missing_[bucket] == 0) exchange_->give(bucket);
    });
    exchange_->progress(adder());
  }
  /// Instead of that, behind the last shard.
  void give_all() {
    for (std::size_t b = 0; b < missing_.size(); ++b) {
      if (missing_[b] > 0) exchange_->give(b);
    }
  }
  /// What sum `i` of the last shard nearly is, if it is one of these.
  void give_early(std::size_t sum, const Tensor& value) {
    if (!has(sum)) return;
    const std::size_t i = place_of(sum);
    kept_.push_back(value.buffer());
    const std::span<const std::byte> all{value.raw(), value.bytes()};
    for_buckets(i, [&](std::size_t bucket) {
      if (!exchange_->takes_early(bucket)) return;
      const std::size_t begin = exchange_->begin_of(bucket), end = exchange_->begin_of(bucket + 1);
      std::span<const std::byte> nearly = all.subspan(begin - layout_.offset(i), end - begin);
      std::shared_ptr<Buffer> total;
      for (std::size_t k = 1; k <= more_; ++k) {
        const std::shared_ptr<Buffer> next = Buffer::allocate(nearly.size());
        const std::span<std::byte> into = bytes_of(*next).first(nearly.size());
        parallel_copy(into.data(), part_of(stack_.size() - k, begin, nearly.size()).data(),
                      into.size(), runner_.workers);
        layout_.add(begin, into, nearly, runner_.workers);
        nearly = into;
        total = next;
      }
      if (total) kept_.push_back(total);
      exchange_->give_early(bucket, nearly);
    });
  }
  /// Behind the last shard: the elements that this rank owns.
  NamedTensors totals(const OwnedStep& step) {
    exchange_->finish(adder());
    const std::vector<Tensor> whole = layout_.tensors(stack_.at(0));
    NamedTensors result;
    for (const OwnedPiece& piece : step.pieces[static_cast<std::size_t>(runner_.world.rank())]) {
      for (const std::size_t sum : step.units[piece.unit].sums)
        result.emplace_back(shard_names::sum(sum), piece_of(whole[place_of(sum)], piece));
    }
    return result;
  }

 private:
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
  static Tensor piece_of(const Tensor& whole, const OwnedPiece& piece) {
    if (piece.whole) return whole;
    return Tensor::view(
        whole.dtype(), {piece.end - piece.begin}, whole.buffer(),
        whole.byte_offset() + static_cast<std::size_t>(piece.begin) * dtype_size(whole.dtype()));
  }

  std::vector<ByteRange> early_;
  std::vector<std::shared_ptr<Buffer>> kept_;  // of early versions
  std::optional<OwnerSums> exchange_;
  std::vector<std::size_t> missing_;  // by bucket: sums that are not complete
};

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
        passing_(stage.sum_names()),
        all_(stage, chosen(stage.sums, step.sums, false), runner),
        owned_(stage, chosen(step.sums, stage.sums, true), runner) {}

  void before(int shard, bool last, RunOptions& options) {
    if (!all_.empty()) all_.begin(shard);
    if (!owned_.empty()) {
      owned_.begin(shard);
      if (last) owned_.begin_last(shards_, step_);
    }
    options.passing = passing_;
    if (!passing_.empty()) {
      options.on_output = [this, giving = last && overlap_](const std::string& output,
                                                            const Tensor& value) {
        take(output, value, giving);
      };
    }
  }
  // An output of the shard that runs.
  void take(const std::string& output, const Tensor& value, bool giving) {
    if (const auto early = shard_names::number_of_early(output); early && giving)
      owned_.give_early(*early, value);
    const std::optional<std::size_t> sum = shard_names::number_of_sum(output);
    if (!sum) return;  // rows, or a statistic
    SumBlock& block = all_.has(*sum) ? static_cast<SumBlock&>(all_) : owned_;
    block.add(block.place_of(*sum), value);
    if (giving && owned_.has(*sum)) owned_.give_complete(*sum);
  }
  void after() {
    all_.end();
    owned_.end();
  }
  NamedTensors totals() {
    if (!owned_.empty() && !overlap_) owned_.give_all();
    NamedTensors result;
    if (!all_.empty()) result = all_.totals(shards_);
    if (owned_.empty()) return result;
    for (auto& entry : owned_.totals(step_)) result.push_back(std::move(entry));
    return result;
  }

  const OwnedStep& step_;
  const int shards_;
  const bool overlap_;
  const std::vector<std::string> passing_;
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
void StageSums::after() { impl_->after(); }
NamedTensors StageSums::totals() { return impl_->totals(); }

}  // namespace weft
