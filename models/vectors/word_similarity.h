// How well cosines of vectors follow what people say of how alike words are.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weft/models/vectors/word_vectors.h"

namespace WEFT_API weft {

struct WordPair {
  std::string first, second;
  double score = 0;
};

/// Reads a UTF-8 file of lines "word word score" with tabs or blanks between, as WordSim-353's
/// (Finkelstein et al. 2002). Lines that are blank or begin with # are dropped. Throws IoError;
/// FormatError with file and line for a line of another form, and where there is none.
std::vector<WordPair> read_word_pairs(const std::string& path);

/// How well vectors follow what people say.
struct WordSimilarity {
  double spearman = 0;  // of the pairs of which both words have vectors; NaN where they are < 2
  std::int64_t covered = 0, pairs = 0;
};
WordSimilarity measure_similarity(const WordVectors& vectors, const std::vector<WordPair>& pairs);

}  // namespace weft
