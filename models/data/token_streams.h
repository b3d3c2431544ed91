// Batches of consecutive text for models that carry their state from one batch to the next.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/data/text.h"

namespace WEFT_API weft {

/// Splits a text into `rows` parts of equal length, which are read side by side: batch i + 1
/// continues batch i row by row. After the last full batch, the rows start again. Immutable.
class TokenStreams {
 public:
  /// Throws ArgumentError if rows or length are below 1, and if the ids do not fill a batch.
  TokenStreams(std::vector<std::int32_t> ids, std::int64_t rows, std::int64_t length);

  /// The number of batches until the rows start again.
  std::int64_t size() const { return size_; }

  struct Piece {
    TokenBatch tokens;  // [rows, length]
    bool fresh;         // true if this is the first batch of the rows
  };
  /// Returns batch `step`, counted from 0 over all epochs: a function of the step, so a resumed run
  /// sees the same batches as an uninterrupted one.
  Piece operator[](std::int64_t step) const;

 private:
  std::vector<std::int32_t> ids_;
  std::int64_t rows_, length_, per_row_, size_;
};

}  // namespace weft
