// Reductions over the shards of a batch. They make the results of a training step bit-identical on
// any number of machines.
#pragma once

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

// A sharded program (Program::shards) splits its batch into G shards. Values that depend on inputs
// exist once per shard. The functions below combine the G values into one, which is the same for
// all shards. Values that depend only on such combined values and on variables (an optimizer
// update, the mean loss) exist once per step. Gradients flow through shard_sum() and shard_mean(),
// and the gradients of variables are summed over the shards, too.
//
//   const Value loss = shard_mean(cross_entropy(logits, targets));
//   const Program train = Program("train").output("loss", loss).shards({.count = 8})
//                             .update(adamw(loss, g.parameters()));
//
// Sums are evaluated along the complete binary tree over the shard numbers, so they are
// bit-identical no matter which rank computes which shard. In an unsharded program, shard_sum()
// returns its operand.

/// Returns the sum of x over all shards. x is f32, f64, i64 or i32 and has the same shape in every
/// shard.
Value shard_sum(Arg x);

/// Concatenates the rows (slices along the first axis) of x over all shards, in shard order. Used
/// for the outputs of an evaluation, or for the rows that a sparse optimizer updates. The other
/// axes have the same sizes in all shards. The number of rows is a new symbol, because shards may
/// have different numbers of rows; without shards it is x.size(0). Values computed from the result
/// exist once per step. Throws ShapeError for a scalar. No gradient flows to x.
Value shard_concat(Arg x);
/// Like shard_concat(), but for a value that has the same number of rows in each shard as another
/// value, whose concatenation has `rows` rows.
Value shard_concat_as(const Dim& rows, Arg x);

/// Returns the mean over the elements of all shards, shard_sum(sum) / shard_sum(count). `sum` is
/// the sum over the elements of one shard, and `count` is the number or total weight of these
/// elements. The result is NaN if the total count is 0.
///   shard_mean(cross_entropy(logits, targets, {.reduction = Reduction::sum}),
///              sum(cast(not_equal(targets, -100), DType::i64)))
Value shard_mean(Arg sum, Arg count);
/// Returns the mean of x over shards of equal weight: all shards have the same number of rows, and
/// no element is ignored.
Value shard_mean(Arg x);

}  // namespace weft
