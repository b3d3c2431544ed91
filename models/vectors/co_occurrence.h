// How often words stand near each other.
#pragma once

#include <cstdint>
#include <functional>

#include "weft/core/parallel.h"
#include "weft/models/vectors/sparse_matrix.h"
#include "weft/models/vectors/word_text.h"

namespace WEFT_API weft {

struct CoOccurrenceOptions {
  int window = 10;          // words to either side, within a sentence
  bool by_distance = true;  // two words n places apart count 1 / n, else 1
  /// Told, from any thread, how many elements the result has so far: nobody knows before how many
  /// there will be. May throw, which ends the counting.
  std::function<void(std::int64_t elements)> check = {};
};

/// Row by row what stands near each word: symmetric, without rows that are empty left out.
/// Throws ArgumentError for a window below 1. The same bits for any number of threads.
SparseMatrix co_occurrences(const WordText& text, const CoOccurrenceOptions& options,
                            Workers& workers);

}  // namespace weft
