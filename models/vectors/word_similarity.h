// Evaluation of word embeddings: correlation of cosines with human similarity ratings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/models/vectors/word_vectors.h"

namespace WEFT_API weft {

/// Two words and a human rating of their similarity.
struct WordPair {
  std::string first, second;
  double score = 0;
};

/// Reads a UTF-8 file of lines "word word score", separated by tabs or spaces, such as WordSim-353
/// (Finkelstein et al. 2002). Skips lines that are blank or begin with #. Throws IoError, and
/// FormatError with file and line for a malformed line or if there are no pairs.
std::vector<WordPair> read_word_pairs(const std::string& path);

/// Agreement of embeddings with human ratings.
struct WordSimilarity {
  /// Rank correlation over the pairs whose words both have embeddings; NaN for fewer than 2 pairs.
  double spearman = 0;
  /// Number of pairs with embeddings of both words, and number of all pairs.
  std::int64_t covered = 0, pairs = 0;
};
WordSimilarity measure_similarity(const WordVectors& vectors, const std::vector<WordPair>& pairs);

}  // namespace weft
