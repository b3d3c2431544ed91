// Reads and splits parallel text, which consists of pairs of texts that are translations of each
// other.
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

/// Reads a UTF-8 file with one pair per line, in the form "source <tab> target [<tab> anything]".
/// Whitespace around both texts and empty lines are dropped. Further columns are ignored;
/// `more_columns` counts the lines that have any. Throws IoError. Throws FormatError with the line
/// number if a line has no second column, or if a side is empty or not UTF-8. Throws FormatError if
/// there is no pair.
std::vector<TextPair> read_text_pairs(const std::string& path,
                                      std::int64_t* more_columns = nullptr);

/// Training data, validation data for model selection, and test data for the final evaluation.
struct TextPairSplit {
  std::vector<TextPair> train, validation, test;
};

/// Splits by source, so that no source occurs in more than one part. A fraction `held_out` of the
/// distinct sources, but at least one, is selected for validation, and the same number for test.
/// The selection is a function of the seed. The order of `pairs` is kept in each part. Throws
/// ArgumentError unless 0 < held_out < 0.5. Throws DataError if there are fewer than three distinct
/// sources.
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
