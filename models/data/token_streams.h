// A text read on and on: batches for models that carry their state from one to the next.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/models/data/text.h"

namespace WEFT_API weft {

/// A text cut into `rows` texts of equal length, which are read side by side: batch i + 1 goes on
/// where batch i ended, row by row. Behind the last batch that is full the rows begin anew.
/// Immutable.
class TokenStreams {
 public:
  /// Throws ArgumentError where rows or length are below 1, and where the ids make no batch.
  TokenStreams(std::vector<std::int32_t> ids, std::int64_t rows, std::int64_t length);

  /// Batches until the rows begin anew.
  std::int64_t size() const { return size_; }

  struct Piece {
    TokenBatch tokens;  // [rows, length]
    bool fresh;         // whether the rows begin with it
  };
  /// Batch `step`, counted from 0 over all epochs: a function of the step alone, so that a resumed
  /// run sees what an uninterrupted one does.
  Piece operator[](std::int64_t step) const;

 private:
  std::vector<std::int32_t> ids_;
  std::int64_t rows_, length_, per_row_, size_;
};

}  // namespace weft
