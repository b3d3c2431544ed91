#include "weft/models/data/batching/batch_part.h"

#include <fmt/format.h>

#include "weft/core/error.h"

namespace weft {

BatchPart::BatchPart(std::int64_t step, std::int64_t shard, std::int64_t shards)
    : step_(step), shard_(shard), shards_(shards) {
  if (shard < 0 || shard >= shards)
    throw ArgumentError(fmt::format("shard {} is outside [0, {})", shard, shards));
}

RowRange BatchPart::rows(std::int64_t count) const {
  if (count % shards_ != 0) {
    throw ArgumentError(
        fmt::format("a batch of {} rows cannot be split into {} equal shards: the rows must be a "
                    "multiple of {}",
                    count, shards_, shards_));
  }
  return nearly_equal_rows(count);
}

RowRange BatchPart::nearly_equal_rows(std::int64_t count) const {
  if (count < shards_) {
    throw ArgumentError(fmt::format(
        "the batch of step {} has {} rows, too few for {} shards: use larger batches or fewer "
        "shards",
        step_, count, shards_));
  }
  return {shard_ * count / shards_, (shard_ + 1) * count / shards_};
}

}  // namespace weft
