// Rows of all shards of a batch, for losses that compare all examples with each other, such as
// contrastive losses.
#pragma once

#include <cstdint>

#include "weft/core/source_location.h"
#include "weft/core/tensor.h"
#include "weft/graph/ir/value.h"
#include "weft/models/data/batching/batch_part.h"

namespace WEFT_API weft {

/// Returns the rows (slices along the first axis) of x in all shards of a batch of `batch` rows.
/// `rows`, i64 [n], are the positions of the n rows of a shard in the batch; a row that no shard
/// has is 0. x has a dtype that shard_sum() supports. Gradients flow to x, unlike those of
/// shard_concat().
///
/// A loss of such rows in a program with shards (Program::shards) is computed with gradient caching
/// (Gao et al. 2021, "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup"): a
/// first stage computes x for every shard without keeping what its gradient needs, the loss and its
/// gradient with respect to all rows are computed once, and a second stage computes x for every
/// shard again, with the same random numbers, and propagates the gradients. The result equals that
/// of one shard up to rounding. The step needs the memory of one shard and of the loss, and
/// computes the forward pass twice. On several ranks, each rank receives the rows of all ranks.
///
/// Throws ArgumentError unless `batch` is at least 1, and ShapeError for a scalar x or if `rows`
/// does not have a position for each row of x. At run time, a position outside [0, batch) throws
/// DataError.
Value gathered_rows(Value x, Value rows, std::int64_t batch,
                    SourceLocation loc = SourceLocation::current());

/// Returns the operand `rows` of gathered_rows() for a part of a batch: the positions of its rows.
Tensor row_positions(const RowRange& rows);

}  // namespace weft
