// The fuzzer's random choices, which depend only on the seed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "weft/core/random.h"

namespace weft::testing {

class RandomSource {
 public:
  explicit RandomSource(std::uint64_t seed) : stream_{seed, 0x7072, 0} {}

  std::uint32_t word() { return stream_.word(next_++); }
  /// Returns a random integer in [0, n).
  std::int64_t below(std::int64_t n) { return n <= 1 ? 0 : static_cast<std::int64_t>(word()) % n; }
  std::int64_t from(std::int64_t low, std::int64_t high) { return low + below(high - low + 1); }
  bool chance(double p) { return static_cast<double>(word()) < p * 0x1p32; }
  double uniform(double low, double high) {
    return low + (high - low) * (static_cast<double>(word()) + 0.5) * 0x1p-32;
  }
  template <class T>
  const T& pick(const std::vector<T>& list) {
    return list[static_cast<std::size_t>(below(static_cast<std::int64_t>(list.size())))];
  }
  template <class T>
  T pick(std::initializer_list<T> list) {
    return *(list.begin() + below(static_cast<std::int64_t>(list.size())));
  }
  template <class T>
  void shuffle(std::vector<T>& list) {
    for (std::size_t i = list.size(); i > 1; --i)
      std::swap(list[i - 1], list[static_cast<std::size_t>(below(static_cast<std::int64_t>(i)))]);
  }

 private:
  RandomStream stream_;
  std::uint64_t next_ = 0;
};

}  // namespace weft::testing
