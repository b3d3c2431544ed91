#include "weft/core/random.h"

#include <cmath>
#include <numbers>

namespace weft {

std::array<double, 2> normal_pair(std::uint32_t a, std::uint32_t b) {
  // Adding 0.5 ensures that u is neither 0, whose logarithm is infinite, nor 1.
  const double u = (static_cast<double>(a) + 0.5) * 0x1p-32;
  const double angle = 2.0 * std::numbers::pi * (static_cast<double>(b) * 0x1p-32);
  const double radius = std::sqrt(-2.0 * std::log(u));
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

std::uint64_t stable_hash(std::string_view text, std::uint64_t seed) {
  std::uint64_t h = 0xcbf29ce484222325u ^ seed;
  for (char c : text) {
    h ^= static_cast<unsigned char>(c);
    h *= 0x100000001b3u;
  }
  // The finaliser of MurmurHash3 is needed because FNV alone hardly mixes the upper bits for short
  // names.
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdu;
  h ^= h >> 33;
  h *= 0xc4ceb9fe1a85ec53u;
  h ^= h >> 33;
  return h;
}

}  // namespace weft
