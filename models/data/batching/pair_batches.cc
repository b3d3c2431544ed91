#include "weft/models/data/batching/pair_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "weft/core/error.h"
#include "weft/core/random.h"
#include "weft/models/data/batching/shuffle.h"

namespace weft {

PairBatches::PairBatches(std::vector<IdPair> pairs, std::int64_t tokens, std::int32_t padding_id,
                         std::int64_t shards)
    : pairs_(std::move(pairs)), padding_id_(padding_id), sorted_(pairs_.size()) {
  if (pairs_.empty()) throw ArgumentError("there are no pairs to build batches from");
  if (size() < shards) {
    throw ArgumentError(
        fmt::format("{} pairs are too few for batches of {} shards: each shard needs at least one",
                    size(), shards));
  }
  if (tokens < 1)
    throw ArgumentError(fmt::format("a batch needs at least 1 token, not {}", tokens));
  for (std::size_t i = 0; i < pairs_.size(); ++i) {
    if (pairs_[i].source.empty() || pairs_[i].target.empty())
      throw ArgumentError(fmt::format("pair {} has an empty side", i));
  }
  std::iota(sorted_.begin(), sorted_.end(), std::size_t{0});
  std::stable_sort(sorted_.begin(), sorted_.end(), [&](std::size_t a, std::size_t b) {
    return pairs_[a].longer() < pairs_[b].longer();
  });
  cuts_ = {0};
  const auto least = static_cast<std::size_t>(shards);
  for (std::size_t i = 0; i < sorted_.size(); ++i) {
    const std::size_t rows = i - cuts_.back() + 1, length = pairs_[sorted_[i]].longer();
    if (rows > least && rows * length > static_cast<std::size_t>(tokens)) cuts_.push_back(i);
  }
  // If the last batch has too few pairs, they are added to the previous batch.
  if (cuts_.size() > 1 && sorted_.size() - cuts_.back() < least) cuts_.pop_back();
  cuts_.push_back(sorted_.size());
}

PairBatches::Epoch PairBatches::epoch(std::uint64_t seed, std::int64_t number) const {
  const auto drawn = [&](std::int64_t count, const char* what) {
    return shuffled(count, stable_hash(what, seed), static_cast<std::uint32_t>(number));
  };
  // The rank of each pair among the pairs of equal length.
  const std::vector<std::int64_t> rank = drawn(size(), "weft.data.pairs");
  Epoch epoch{sorted_, drawn(per_epoch(), "weft.data.batches")};
  std::sort(epoch.pairs.begin(), epoch.pairs.end(), [&](std::size_t a, std::size_t b) {
    const std::size_t first = pairs_[a].longer(), second = pairs_[b].longer();
    return first != second ? first < second : rank[a] < rank[b];
  });
  return epoch;
}

PairBatch PairBatches::batch(std::uint64_t seed, const BatchPart& part) const {
  const std::int64_t number = part.step() / per_epoch();
  const auto order = epochs_({seed, number}, [&] { return epoch(seed, number); });
  const auto at = static_cast<std::size_t>(part.step() % per_epoch());
  return make(order->pairs, static_cast<std::size_t>(order->batches[at]), part);
}

PairBatch PairBatches::in_order(std::int64_t i) const {
  return make(sorted_, static_cast<std::size_t>(i), i);
}

PairBatch PairBatches::make(const std::vector<std::size_t>& order, std::size_t batch,
                            const BatchPart& part) const {
  PairBatch out;
  const auto first = static_cast<std::ptrdiff_t>(cuts_[batch]);
  const RowRange mine =
      part.nearly_equal_rows(static_cast<std::int64_t>(cuts_[batch + 1] - cuts_[batch]));
  out.pairs.assign(order.begin() + first + mine.begin, order.begin() + first + mine.end);
  std::size_t length = 0;
  for (const std::size_t pair : out.pairs) length = std::max(length, pairs_[pair].longer());
  const auto rows = static_cast<std::int64_t>(out.pairs.size());
  out.source = Tensor::empty(DType::i32, {rows, static_cast<std::int64_t>(length)});
  out.labels = Tensor::empty(DType::i32, {rows, static_cast<std::int64_t>(length)});
  auto* source = out.source.mutable_data<std::int32_t>();
  auto* labels = out.labels.mutable_data<std::int32_t>();
  const auto fill = [&](std::int32_t* to, const std::vector<std::int32_t>& ids, std::int32_t pad) {
    std::fill(std::copy(ids.begin(), ids.end(), to), to + length, pad);
    return to + length;
  };
  for (const std::size_t pair : out.pairs) {
    source = fill(source, pairs_[pair].source, padding_id_);
    labels = fill(labels, pairs_[pair].target, -100);
    out.labels_counted += static_cast<std::int64_t>(pairs_[pair].target.size());
  }
  return out;
}

}  // namespace weft
