// Strings to be reversed: the smallest task that needs an encoder, a decoder and attention between.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/models/data/parallel_text.h"

namespace WEFT_API weft {

struct ReversalOptions {
  std::string alphabet = "abcdefghijklmnopqrstuvwxyz";  // ASCII
  std::int64_t min_length = 1, max_length = 20;
};

/// `count` random strings and what they are backwards; every length as likely, every character as
/// likely. Short strings occur more than once. A function of (count, seed, options). Throws
/// ArgumentError for an empty alphabet and lengths that are not 1 <= min <= max.
std::vector<TextPair> reversal_pairs(std::int64_t count, std::uint64_t seed,
                                     const ReversalOptions& options = {});

}  // namespace weft
