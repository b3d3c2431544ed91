// Batches of consecutive text, for models that carry their state from one batch to the next.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/data/batching/token_batches.h"

namespace WEFT_API weft {

/// Splits a text into `rows` parts of equal length, which are read in parallel. Each row of batch i
/// + 1 continues the same row of batch i. After the last full batch, all rows start over.
/// Immutable.
class TokenStreams {
 public:
  /// Throws ArgumentError if `rows` or `length` is below 1, or if the ids do not fill a batch.
  TokenStreams(std::vector<std::int32_t> ids, std::int64_t rows, std::int64_t length);

  /// The number of batches until the rows start over.
  std::int64_t size() const { return size_; }

  struct Piece {
    TokenBatch tokens;  // [rows, length]
    bool fresh;         // true if all rows start (or start over) in this batch
  };
  /// Returns batch `step`, counted from 0 over all epochs. The result depends only on the step, so
  /// that a resumed run uses the same batches as an uninterrupted run.
  Piece operator[](std::int64_t step) const;

 private:
  std::vector<std::int32_t> ids_;
  std::int64_t rows_, length_, per_row_, size_;
};

}  // namespace weft
