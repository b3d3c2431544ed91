// How often words stand near each other.
#pragma once

#include "weft/core/parallel.h"
#include "weft/models/vectors/sparse_matrix.h"
#include "weft/models/vectors/word_text.h"

namespace WEFT_API weft {

struct CoOccurrenceOptions {
  int window = 10;          // words to either side, within a sentence
  bool by_distance = true;  // two words n places apart count 1 / n, else 1
};

/// Row by row what stands near each word: symmetric, without rows that are empty left out.
/// Throws ArgumentError for a window below 1. The same bits for any number of threads.
SparseMatrix co_occurrences(const WordText& text, const CoOccurrenceOptions& options,
                            Workers& workers);

}  // namespace weft
