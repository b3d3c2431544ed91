// Scalar models of random numbers, computed one element at a time.
#pragma once

#include <cstdint>

#include "weft/core/random.h"

namespace weft::testing {

inline float reference_uniform_f32(const RandomStream& s, std::uint64_t i) {
  return uniform_float(s.word(i));
}
inline double reference_uniform_f64(const RandomStream& s, std::uint64_t i) {
  return uniform_double(s.word(2 * i), s.word(2 * i + 1));
}
inline double reference_normal(const RandomStream& s, std::uint64_t i) {
  return normal_pair(s.word(i / 2 * 2), s.word(i / 2 * 2 + 1))[i % 2];
}
/// Returns true with probability p. For dropout with rate p, true means that the element is
/// dropped.
inline bool reference_bernoulli(const RandomStream& s, std::uint64_t i, double p) {
  return static_cast<double>(s.word(i)) < p * 0x1p32;
}

}  // namespace weft::testing
