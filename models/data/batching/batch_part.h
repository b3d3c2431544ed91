// Selects the rows of a training batch that one process needs.
#pragma once

#include <cstdint>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// The rows [begin, end) of a batch.
struct RowRange {
  std::int64_t begin = 0, end = 0;
  std::int64_t size() const { return end - begin; }
  friend bool operator==(const RowRange&, const RowRange&) = default;
};

/// The batch of a step, or one shard of the batch. Together, the shards contain each row of the
/// batch once, in order. Random numbers for a row depend on its position in the whole batch, so
/// that the data do not depend on which process builds which shard.
class BatchPart {
 public:
  /// The whole batch of a step. Steps count from 0.
  BatchPart(std::int64_t step) : step_(step) {}  // NOLINT(google-explicit-constructor)
  /// Throws ArgumentError unless 0 <= shard < shards.
  BatchPart(std::int64_t step, std::int64_t shard, std::int64_t shards);

  std::int64_t step() const { return step_; }
  std::int64_t shard() const { return shard_; }
  std::int64_t shards() const { return shards_; }

  /// Returns the rows of this part in a batch of `count` rows. Throws ArgumentError if the shards
  /// would have different sizes, because the mean of their losses would then differ from the loss
  /// of the batch.
  RowRange rows(std::int64_t count) const;
  /// Like rows(), for batches with a varying number of rows. The sizes of the shards differ by at
  /// most one row. Throws ArgumentError if a shard would be empty.
  RowRange nearly_equal_rows(std::int64_t count) const;

 private:
  std::int64_t step_, shard_ = 0, shards_ = 1;
};

}  // namespace weft
