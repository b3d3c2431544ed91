// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011). Every number is a pure function of key and counter. It therefore does not
// depend on the number of threads, the order of evaluation or recomputation.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

using PhiloxBlock = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

/// Returns one block of four 32-bit words, computed by ten rounds.
inline PhiloxBlock philox4x32(PhiloxBlock c, PhiloxKey k) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * c[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * c[2];
    c = {static_cast<std::uint32_t>(p1 >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(p0)};
    k[0] += 0x9E3779B9u;
    k[1] += 0xBB67AE85u;
  }
  return c;
}

/// The largest stream number. The Philox counter stores it in 32 bits.
inline constexpr std::int64_t kMaxStream = 0xFFFFFFFF;

/// The source of random numbers for one op in a graph. The seed is the Philox key. `stream`
/// distinguishes the random ops of a program, and `step` distinguishes its runs. Element i uses
/// word i % 4 of block i / 4.
struct RandomStream {
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;
  std::uint32_t step = 0;

  /// Returns words 4 * index to 4 * index + 3 of the stream.
  PhiloxBlock block(std::uint64_t index) const {
    return philox4x32(
        {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), stream, step},
        {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  }
  std::uint32_t word(std::uint64_t element) const { return block(element / 4)[element % 4]; }
};

/// Returns a uniform number in [0, 1) with 24 bits.
inline float uniform_float(std::uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
/// Returns a uniform number in [0, 1) with 53 bits.
inline double uniform_double(std::uint32_t high, std::uint32_t low) {
  return static_cast<double>(((std::uint64_t{high} << 32 | low) >> 11)) * 0x1p-53;
}
/// Returns two independent standard normals from two words (Box and Muller 1958); finite for every
/// input.
std::array<double, 2> normal_pair(std::uint32_t a, std::uint32_t b);
/// Returns a uniform integer in [0, bound), bound > 0, from 64 random bits by multiplication
/// (Lemire 2019); the bias is below bound / 2^64.
inline std::uint64_t uniform_below(std::uint64_t bits, std::uint64_t bound) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits) * bound) >> 64);
}

/// Returns a 64-bit hash (FNV-1a followed by a finaliser) that is the same on every machine; used
/// to derive seeds from names.
std::uint64_t stable_hash(std::string_view text, std::uint64_t seed = 0);

}  // namespace weft
