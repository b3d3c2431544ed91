// Sums and rows over the shards of a batch: what makes a training step the same on any number of
// machines.
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

// A program with shards (Program::shards) cuts its batch into G parts. What is computed from inputs
// is there once per shard; these functions make one value of the G, which is the same for all.
// What is computed from such values and from variables (an optimizer's step, a mean loss) is there
// once per step. Gradients go through: those of variables are added up over the shards, too.
//
//   const Value loss = shard_mean(cross_entropy(logits, targets));
//   const Program train = Program("train").output("loss", loss).shards({.count = 8})
//                             .update(adamw(loss, g.parameters()));
//
// The bits are those of the complete binary tree over the numbers of the shards, whoever computes
// them. Where a program has no shards, a sum is its operand.

/// The sum of x over all shards; x has the same sizes in each: f32, f64, i64 or i32.
Value shard_sum(Arg x);

/// The rows (slices along the first axis) of x in all shards, one behind the other in the order of
/// the shards: outputs of an evaluation, or rows that an optimizer moves. Sizes of other axes are
/// the same in all shards. How many rows there are is a symbol of its own, since shards may differ
/// in theirs; without shards it is x.size(0). What is made of them is there once per step. Throws
/// ShapeError for a scalar. Gradients do not go through.
Value shard_concat(Arg x);
/// The same of a value with as many rows in each shard as one that was joined to `rows`.
Value shard_concat_as(const Dim& rows, Arg x);

/// The mean over the elements of all shards: each has their `sum`, and how many they are (or what
/// they weigh): shard_sum(sum) / shard_sum(count). NaN where nothing counts in any shard.
///   shard_mean(cross_entropy(logits, targets, {.reduction = Reduction::sum}),
///              sum(cast(not_equal(targets, -100), DType::i64)))
Value shard_mean(Arg sum, Arg count);
/// The mean of x over shards that all weigh the same: as many rows each, whose elements all count.
Value shard_mean(Arg x);

}  // namespace weft
