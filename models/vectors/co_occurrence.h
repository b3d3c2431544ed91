// Co-occurrence counts of words.
#pragma once

#include <cstdint>
#include <functional>

#include "weft/core/parallel.h"
#include "weft/models/vectors/sparse_matrix.h"
#include "weft/models/vectors/word_text.h"

namespace WEFT_API weft {

struct CoOccurrenceOptions {
  /// Words on either side, within a sentence.
  int window = 10;
  /// True: two words n positions apart count 1 / n. False: they count 1.
  bool by_distance = true;
  /// Called from any thread with the number of elements counted so far, which cannot be known in
  /// advance. May throw to abort the counting.
  std::function<void(std::int64_t elements)> check = {};
};

/// Counts the words in the window around each word. The result is symmetric, with one row per word,
/// including empty rows. Throws ArgumentError for a window below 1. Bit-identical for any number of
/// threads.
SparseMatrix co_occurrences(const WordText& text, const CoOccurrenceOptions& options,
                            Workers& workers);

}  // namespace weft
