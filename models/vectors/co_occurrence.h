// Co-occurrence counts of words.
#pragma once

#include <cstdint>
#include <functional>

#include "weft/core/parallel.h"
#include "weft/models/vectors/sparse_matrix.h"
#include "weft/models/vectors/word_text.h"

namespace WEFT_API weft {

struct CoOccurrenceOptions {
  /// Maximum distance between two words, within a sentence.
  int window = 10;
  /// True: two words n positions apart count 1 / n. False: they count 1.
  bool by_distance = true;
  /// Called from any thread with the number of elements counted so far; the final number is not
  /// known in advance. May throw to abort the counting.
  std::function<void(std::int64_t elements)> check = {};
};

/// Counts the words in the window around each word. The result is symmetric, with one row per word,
/// including empty rows. Throws ArgumentError if the window is below 1. The result is bit-identical
/// for any number of threads.
SparseMatrix co_occurrences(const WordText& text, const CoOccurrenceOptions& options,
                            Workers& workers);

}  // namespace weft
