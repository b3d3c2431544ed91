// Batches of sequence pairs of similar length, for training encoder-decoder models.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/models/data/batching/batch_part.h"
#include "weft/models/data/batching/memoized_last.h"

namespace WEFT_API weft {

/// The ids of a text pair. Each side ends with an end-of-text id.
struct IdPair {
  std::vector<std::int32_t> source = {}, target = {};
  std::size_t longer() const { return std::max(source.size(), target.size()); }
};

/// Pairs padded to the same length.
struct PairBatch {
  Tensor source;  // i32 [pairs, length], padded with the padding id
  Tensor labels;  // i32 [pairs, length], padded with -100, which losses ignore
  std::int64_t labels_counted = 0;
  std::vector<std::size_t> pairs;  // indices of the pairs, one per row
};

/// Batches of pairs with a limit on the number of tokens. Pairs are sorted by the length of their
/// longer side and divided into batches in that order, which limits padding. Every epoch shuffles
/// pairs of equal length and the order of the batches. Each pair occurs once per epoch.
/// Thread-safe.
class PairBatches {
 public:
  /// `tokens` is the maximum number of tokens on one side of a batch, including padding. A longer
  /// pair forms its own batch. A batch has at least one pair per shard, even if it then exceeds the
  /// limit, because the number of tokens per shard is what matters in this case. Throws
  /// ArgumentError if there are fewer pairs than shards, if a side is empty, or if tokens < 1.
  PairBatches(std::vector<IdPair> pairs, std::int64_t tokens, std::int32_t padding_id,
              std::int64_t shards = 1);

  /// The number of batches per epoch, the same in every epoch.
  std::int64_t per_epoch() const { return static_cast<std::int64_t>(cuts_.size()) - 1; }
  std::int64_t size() const { return static_cast<std::int64_t>(pairs_.size()); }

  /// Returns the batch of a training step, or a shard of the batch, padded to its own longest pair.
  /// The result is a function of (seed, step), so that a resumed run uses the same batches as an
  /// uninterrupted run. The order of the most recently used epoch is cached. Throws ArgumentError
  /// under the same conditions as BatchPart::nearly_equal_rows().
  PairBatch batch(std::uint64_t seed, const BatchPart& part) const;
  /// Returns batch i in [0, per_epoch()) without shuffling, for evaluation.
  PairBatch in_order(std::int64_t i) const;

 private:
  /// The pairs of an epoch, sorted by length with ties in random order, and the order of the
  /// batches.
  struct Epoch {
    std::vector<std::size_t> pairs;
    std::vector<std::int64_t> batches;
  };
  Epoch epoch(std::uint64_t seed, std::int64_t number) const;
  /// Builds a part of batch number `batch` for the given order of pairs. The step of `part` is
  /// ignored.
  PairBatch make(const std::vector<std::size_t>& order, std::size_t batch,
                 const BatchPart& part) const;

  std::vector<IdPair> pairs_;
  std::int32_t padding_id_;
  std::vector<std::size_t> sorted_;  // pairs sorted by length, ties in original order
  std::vector<std::size_t> cuts_;    // batch i contains positions [cuts_[i], cuts_[i + 1])
  MemoizedLast<std::pair<std::uint64_t, std::int64_t>, Epoch> epochs_;  // by seed and epoch
};

}  // namespace weft
