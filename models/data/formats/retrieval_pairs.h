// Queries with relevant passages and given negatives, for training and evaluating text embeddings.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A query, a passage that is relevant to it (the positive), and passages that are not (hard
/// negatives).
struct RetrievalPair {
  std::string query = {}, passage = {};
  std::vector<std::string> negatives = {};
  friend bool operator==(const RetrievalPair&, const RetrievalPair&) = default;
};

struct RetrievalPairs {
  std::vector<RetrievalPair> lines = {};

  std::int64_t size() const { return static_cast<std::int64_t>(lines.size()); }
  /// Returns the largest number of negatives of a line.
  std::int64_t most_negatives() const;
  /// Returns all texts: the query, the passage and the negatives of every line.
  std::vector<std::string> texts() const;
};

/// Reads UTF-8 files with lines "query <tab> passage [<tab> negative ...]". Lines may have
/// different numbers of negatives. Blanks around the columns and blank lines are dropped. Throws
/// IoError. Throws FormatError with file and line if a line has one column only or a text is empty,
/// and FormatError if there are no lines.
RetrievalPairs read_retrieval_pairs(std::span<const std::string> paths);

struct RetrievalSplit {
  RetrievalPairs train, held_out;
};
/// Holds out about `fraction` of the passages, selected at random, with all lines of which they are
/// the positive, so that the held-out queries ask for passages that are not positives in training.
/// The selection is a function of the number of distinct passages, fraction and seed. The order of
/// the lines is kept in both parts. Unless the fraction is 0, each part contains at least one line.
/// Throws ArgumentError unless 0 <= fraction < 1. Throws DataError if the fraction is not 0 and
/// there are fewer than two distinct passages.
RetrievalSplit hold_out(const RetrievalPairs& all, double fraction, std::uint64_t seed);

}  // namespace weft
