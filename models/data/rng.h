// A sequential random number generator for data preparation.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "weft/core/random.h"

namespace WEFT_API weft {

/// A generator of random numbers that depend only on the constructor arguments and the preceding
/// calls.
class Rng {
 public:
  explicit Rng(std::uint64_t seed, std::uint32_t stream = 0, std::uint32_t step = 0)
      : stream_{seed, stream, step} {}

  /// Returns a uniform number in [0, 1).
  double uniform() {
    const std::uint32_t high = next();
    return uniform_double(high, next());
  }
  /// Returns a uniform integer in [0, bound).
  std::int64_t below(std::int64_t bound) {
    const std::uint64_t high = next();
    return static_cast<std::int64_t>(
        uniform_below(high << 32 | next(), static_cast<std::uint64_t>(bound)));
  }
  /// Returns a Poisson-distributed number. Uses Knuth's method, which is suitable for small means.
  std::int64_t poisson(double mean) {
    std::int64_t count = 0;
    for (double product = uniform(); product > std::exp(-mean); product *= uniform()) ++count;
    return count;
  }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i)
      std::swap(items[i - 1], items[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
  }

 private:
  std::uint32_t next() { return stream_.word(count_++); }
  RandomStream stream_;
  std::uint64_t count_ = 0;
};

}  // namespace weft
