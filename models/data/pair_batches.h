// Batches of pairs of sequences of similar length: what encoder-decoders are trained with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "weft/core/tensor.h"

namespace weft {

/// Ids of a pair, each side with the id that ends it.
struct IdPair {
  std::vector<std::int32_t> source, target;
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
  /// batch of its own. Throws ArgumentError where there are no pairs, a side is empty, or tokens <
  /// 1.
  PairBatches(std::vector<IdPair> pairs, std::int64_t tokens, std::int32_t padding_id);

  /// The same in every epoch.
  std::int64_t per_epoch() const { return static_cast<std::int64_t>(cuts_.size()) - 1; }
  std::int64_t size() const { return static_cast<std::int64_t>(pairs_.size()); }

  /// The batch of a training step, counted from 0: a function of (seed, step), so that a resumed
  /// run sees what an uninterrupted one does. The order of the last epoch asked for is kept: not
  /// for several threads at once.
  PairBatch batch(std::uint64_t seed, std::int64_t step);
  /// Batch i of per_epoch() for an evaluation: nothing is drawn.
  PairBatch in_order(std::int64_t i) const;

 private:
  /// An epoch: pairs sorted by length, ties in a drawn order, and the order of the batches.
  struct Epoch {
    std::uint64_t seed;
    std::int64_t number;
    std::vector<std::size_t> pairs;
    std::vector<std::int64_t> batches;
  };
  PairBatch make(const std::vector<std::size_t>& order, std::size_t batch) const;

  std::vector<IdPair> pairs_;
  std::int32_t padding_id_;
  std::vector<std::size_t> sorted_;  // pairs by length, ties in their own order
  std::vector<std::size_t> cuts_;    // batch i holds places cuts_[i] .. cuts_[i + 1] - 1
  std::optional<Epoch> epoch_;
};

}  // namespace weft
