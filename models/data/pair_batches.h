// Batches of pairs of sequences of similar length: what encoder-decoders are trained with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/models/data/batch_part.h"
#include "weft/models/data/last_made.h"

namespace WEFT_API weft {

/// Ids of a pair, each side with the id that ends it.
struct IdPair {
  std::vector<std::int32_t> source = {}, target = {};
  std::size_t longer() const { return std::max(source.size(), target.size()); }
};

/// Pairs padded to one length.
struct PairBatch {
  Tensor source;  // i32 [pairs, length], filled up with the padding id
  Tensor labels;  // i32 [pairs, length], filled up with -100: not counted by losses
  std::int64_t labels_counted = 0;
  std::vector<std::size_t> pairs;  // which ones, by row
};

/// Pairs in batches of as many as fit into a number of tokens. Pairs are sorted by the length of
/// their longer side and cut into batches in that order, so that little is padding; which pairs of
/// the same length come together, and the order of the batches, is new in every epoch. Each pair
/// occurs once per epoch.
class PairBatches {
 public:
  /// `tokens`: most tokens of a batch on one side, padding counted; a pair that is longer is a
  /// batch of its own. Batches that are cut into `shards` have a pair for each, however long: what
  /// counts is then the tokens of a shard. Throws ArgumentError where there are fewer pairs than
  /// that, a side is empty, or tokens < 1.
  PairBatches(std::vector<IdPair> pairs, std::int64_t tokens, std::int32_t padding_id,
              std::int64_t shards = 1);

  /// The same in every epoch.
  std::int64_t per_epoch() const { return static_cast<std::int64_t>(cuts_.size()) - 1; }
  std::int64_t size() const { return static_cast<std::int64_t>(pairs_.size()); }

  /// The batch of a training step, or a shard of it, each as long as its own longest pair: a
  /// function of (seed, step), so that a resumed run sees what an uninterrupted one does. The order
  /// of the last epoch asked for is kept. For any number of threads. Throws ArgumentError as
  /// BatchPart::nearly_equal_rows.
  PairBatch batch(std::uint64_t seed, const BatchPart& part) const;
  /// Batch i of per_epoch() for an evaluation: nothing is drawn.
  PairBatch in_order(std::int64_t i) const;

 private:
  /// An epoch: pairs sorted by length, ties in a drawn order, and the order of the batches.
  struct Epoch {
    std::vector<std::size_t> pairs;
    std::vector<std::int64_t> batches;
  };
  Epoch epoch(std::uint64_t seed, std::int64_t number) const;
  /// A part (whatever its step) of batch `batch` of an order.
  PairBatch make(const std::vector<std::size_t>& order, std::size_t batch,
                 const BatchPart& part) const;

  std::vector<IdPair> pairs_;
  std::int32_t padding_id_;
  std::vector<std::size_t> sorted_;  // pairs by length, ties in their own order
  std::vector<std::size_t> cuts_;    // batch i holds places cuts_[i] .. cuts_[i + 1] - 1
  LastMade<std::pair<std::uint64_t, std::int64_t>, Epoch> epochs_;  // by seed and number
};

}  // namespace weft
