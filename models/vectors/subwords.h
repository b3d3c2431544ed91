// The parts of words that fastText learns vectors of (Bojanowski et al., "Enriching word vectors
// with subword information", 2017).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

struct SubwordOptions {
  int shortest = 3, longest = 6;   // characters of an n-gram
  std::int64_t buckets = 100'000;  // rows that n-grams share by their hash
  friend bool operator==(const SubwordOptions&, const SubwordOptions&) = default;
};

/// The buckets of a word's n-grams of characters, "<" and ">" around the word counted as such, as
/// fastText makes them: "<" or ">" alone is none. The hash is its FNV-1a of 32 bits, which takes
/// bytes beyond ASCII with their sign.
std::vector<std::int32_t> subword_buckets(std::string_view word, const SubwordOptions& options);

}  // namespace weft
