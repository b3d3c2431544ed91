// The order in which a training goes through its examples.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/data/batch_part.h"
#include "weft/models/data/last_made.h"
#include "weft/models/data/shuffle.h"

namespace WEFT_API weft {

/// Examples without end: every one comes once in an epoch, in an order that each epoch draws anew,
/// a function of the seed and the epoch alone. The order of the last epoch asked for is kept. For
/// any number of threads; copies share what is kept.
class Epochs {
 public:
  /// Numbers of examples, in the order of an epoch.
  using Order = std::vector<std::int64_t>;
  using Shuffle = Order (*)(std::int64_t count, std::uint64_t seed, std::uint32_t epoch);

  Epochs(std::int64_t count, std::uint64_t seed, Shuffle shuffle = shuffled)
      : count_(count), seed_(seed), shuffle_(shuffle) {}

  /// The examples of a batch of `batch`, which may end one epoch and begin the next. Throws
  /// ArgumentError where there are no examples, and as BatchPart::rows.
  Order examples(const BatchPart& part, std::int64_t batch) const;

 private:
  std::int64_t count_;
  std::uint64_t seed_;
  Shuffle shuffle_;
  LastMade<std::int64_t, Order> orders_;
};

}  // namespace weft
