// The order of training examples over epochs.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/data/batching/batch_part.h"
#include "weft/models/data/batching/memoized_last.h"
#include "weft/models/data/batching/shuffle.h"

namespace WEFT_API weft {

/// An endless sequence of examples. Each epoch contains every example once, in an order that is a
/// function of seed and epoch. The order of the most recently used epoch is cached. Thread-safe;
/// copies share the cache.
class Epochs {
 public:
  /// The order of an epoch, as indices of examples.
  using Order = std::vector<std::int64_t>;
  using Shuffle = Order (*)(std::int64_t count, std::uint64_t seed, std::uint32_t epoch);

  Epochs(std::int64_t count, std::uint64_t seed, Shuffle shuffle = shuffled)
      : count_(count), seed_(seed), shuffle_(shuffle) {}

  /// Returns the indices of the examples in a part of a batch with `batch` examples. A batch may
  /// extend beyond the end of an epoch. Throws ArgumentError if there are no examples, and under
  /// the same conditions as BatchPart::rows().
  Order examples(const BatchPart& part, std::int64_t batch) const;

 private:
  std::int64_t count_;
  std::uint64_t seed_;
  Shuffle shuffle_;
  MemoizedLast<std::int64_t, Order> orders_;
};

}  // namespace weft
