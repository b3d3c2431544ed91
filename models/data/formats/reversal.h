// Training data for string reversal, the simplest task that needs an encoder, a decoder and
// cross-attention.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/models/data/formats/parallel_text.h"

namespace WEFT_API weft {

struct ReversalOptions {
  std::string alphabet = "abcdefghijklmnopqrstuvwxyz";  // ASCII
  std::int64_t min_length = 1, max_length = 20;
};

/// Generates `count` random strings with their reversals. All lengths are equally likely, and all
/// characters are equally likely. Short strings may occur more than once. The result is a function
/// of (count, seed, options). Throws ArgumentError if the alphabet is empty, and unless 1 <=
/// min_length <= max_length.
std::vector<TextPair> reversal_pairs(std::int64_t count, std::uint64_t seed,
                                     const ReversalOptions& options = {});

}  // namespace weft
