// A hash function for short byte strings.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Mixes two 64-bit words into one by combining the two halves of their product with exclusive or.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

/// Hashes `bytes` in steps of eight bytes.
inline std::uint64_t hash_bytes(std::string_view bytes) {
  constexpr std::uint64_t kFirst = 0x9E3779B97F4A7C15U, kSecond = 0xD6E8FEB86659FD93U;
  std::uint64_t hash = kFirst ^ bytes.size();
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t word = 0;
  for (; left >= sizeof word; left -= sizeof word, at += sizeof word) {
    std::memcpy(&word, at, sizeof word);
    hash = mix(hash ^ word, kSecond);
  }
  word = 0;
  std::memcpy(&word, at, left);
  return mix(hash ^ word, kFirst);
}

}  // namespace weft
