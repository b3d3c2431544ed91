// Parallel text: reading and splitting pairs of texts that are translations of each other.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/core/tensor.h"

namespace WEFT_API weft {

struct TextPair {
  std::string source, target;
  friend bool operator==(const TextPair&, const TextPair&) = default;
};

/// Reads "source <tab> target [<tab> anything]", one pair per line, in UTF-8. Whitespace around
/// both texts and empty lines are dropped. Lines with further columns, which are ignored, are
/// counted in `more_columns`. Throws IoError; FormatError with the line number if a line has no
/// second column, if a side is empty or not UTF-8, and if there is no pair.
std::vector<TextPair> read_text_pairs(const std::string& path,
                                      std::int64_t* more_columns = nullptr);

/// Training data, validation data for model selection, and test data for the final evaluation.
struct TextPairSplit {
  std::vector<TextPair> train, validation, test;
};

/// Splits by source, so that no source of one part occurs in another. A fraction `held_out` of the
/// distinct sources, at least one, is selected for validation, and as many for test. The choice is
/// a function of the seed. The parts keep the order of `pairs`. Throws ArgumentError unless 0 <
/// held_out < 0.5, DataError for fewer than three distinct sources.
TextPairSplit split_by_source(const std::vector<TextPair>& pairs, double held_out,
                              std::uint64_t seed);

/// A source with its reference translations.
struct TranslationCase {
  std::string source;
  std::vector<std::string> references;  // all distinct
};

/// Returns one case per distinct source, in order of first occurrence.
std::vector<TranslationCase> group_by_source(const std::vector<TextPair>& pairs);

}  // namespace weft
