// Pairs of texts, one the translation of the other: reading, splitting, batches.
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

/// Reads "source <tab> target [<tab> anything]", one pair a line, UTF-8; white space around both is
/// left out, as are empty lines. Lines with further columns, which are not read, are counted in
/// `more_columns`. Throws IoError; FormatError with the line's number where a line
/// has no second column, a side is empty or is no UTF-8, and where there is no pair.
std::vector<TextPair> read_text_pairs(const std::string& path,
                                      std::int64_t* more_columns = nullptr);

/// What a model learns from, what choices are made by, and what it is measured by once.
struct TextPairSplit {
  std::vector<TextPair> train, validation, test;
};

/// Splits by source, so that no source of one part occurs in another: of the different sources a
/// share of `held_out` each, at least one, goes to validation and test; which ones is a function of
/// the seed. Parts keep the order of `pairs`. Throws ArgumentError unless 0 < held_out < 0.5,
/// DataError for less than three different sources.
TextPairSplit split_by_source(const std::vector<TextPair>& pairs, double held_out,
                              std::uint64_t seed);

/// A source and everything that it may be translated to.
struct TranslationCase {
  std::string source;
  std::vector<std::string> references;  // different from each other
};

/// One case per different source, in the order of their first pair.
std::vector<TranslationCase> group_by_source(const std::vector<TextPair>& pairs);

}  // namespace weft
