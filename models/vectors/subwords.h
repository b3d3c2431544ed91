// Character n-grams of words, as fastText uses them (Bojanowski et al., "Enriching word vectors
// with subword information", 2017).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

struct SubwordOptions {
  int shortest = 3, longest = 6;   // characters of an n-gram
  std::int64_t buckets = 100'000;  // rows; n-grams are assigned to them by their hash
  friend bool operator==(const SubwordOptions&, const SubwordOptions&) = default;
};

/// Returns the buckets of the character n-grams of a word, computed as in fastText: "<" and ">" are
/// added around the word and count as characters, but neither of them is an n-gram on its own. The
/// hash is fastText's 32-bit FNV-1a, which sign-extends bytes beyond ASCII.
std::vector<std::int32_t> subword_buckets(std::string_view word, const SubwordOptions& options);

}  // namespace weft
