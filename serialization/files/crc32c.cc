#include "weft/serialization/files/crc32c.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

#include <array>
#include <cstring>

namespace weft {
namespace {

// Eight tables process eight bytes per step ("slicing by 8"): about 2 GB/s without special
// instructions.
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables make_tables() {
  Tables t{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? 0x82F63B78u : 0u);
    t[0][i] = c;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t i = 0; i < 256; ++i) t[k][i] = (t[k - 1][i] >> 8) ^ t[0][t[k - 1][i] & 0xff];
  }
  return t;
}

constexpr Tables kTables = make_tables();

#if defined(__x86_64__)
// Uses the SSE4.2 CRC instruction, which is four times as fast as the tables and limited by memory
// bandwidth.
__attribute__((target("sse4.2"))) std::uint32_t with_instruction(const unsigned char* p,
                                                                 std::size_t bytes,
                                                                 std::uint32_t state) {
  std::uint64_t c = state;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    c = _mm_crc32_u64(c, word);
  }
  auto rest = static_cast<std::uint32_t>(c);
  for (; bytes > 0; --bytes, ++p) rest = _mm_crc32_u8(rest, *p);
  return rest;
}
#endif

}  // namespace

std::uint32_t crc32c(const void* data, std::size_t bytes, std::uint32_t seed) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2"))
    return ~with_instruction(static_cast<const unsigned char*>(data), bytes, ~seed);
#endif
  return crc32c_portable(data, bytes, seed);
}

std::uint32_t crc32c_portable(const void* data, std::size_t bytes, std::uint32_t seed) {
  const auto* p = static_cast<const unsigned char*>(data);
  std::uint32_t c = ~seed;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    std::uint64_t word;
    std::memcpy(&word, p, 8);
    word ^= c;
    c = 0;
    for (std::size_t k = 0; k < 8; ++k) c ^= kTables[7 - k][(word >> (8 * k)) & 0xff];
  }
  for (; bytes > 0; --bytes, ++p) c = (c >> 8) ^ kTables[0][(c ^ *p) & 0xff];
  return ~c;
}

}  // namespace weft
