// Which rows of a training's batches are wanted.
#pragma once

#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Rows begin .. end - 1 of a batch.
struct RowRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

/// The batch of a step, or one of the shards that it is cut into: all rows of a batch are in one of
/// its shards, in their order. What is drawn for a row depends on its place in the whole batch, so
/// that it does not matter who makes which shard.
class BatchPart {
 public:
  /// The whole batch of a step, counted from 0.
  BatchPart(std::int64_t step) : step_(step) {}  // NOLINT(google-explicit-constructor)
  /// Throws ArgumentError unless 0 <= shard < shards.
  BatchPart(std::int64_t step, std::int64_t shard, std::int64_t shards);

  std::int64_t step() const { return step_; }
  std::int64_t shard() const { return shard_; }
  std::int64_t shards() const { return shards_; }

  /// Which of `count` rows these are. Throws ArgumentError where the shards would not be equal: the
  /// mean of their losses would not be the batch's.
  RowRange rows(std::int64_t count) const;
  /// The same where a batch has as many rows as there happen to be: shards differ by a row at most.
  /// Throws ArgumentError where one would be empty.
  RowRange nearly_equal_rows(std::int64_t count) const;

 private:
  std::int64_t step_, shard_ = 0, shards_ = 1;
};

}  // namespace weft
