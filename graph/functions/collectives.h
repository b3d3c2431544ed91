// What ranks of a world say to one another inside of a program: for models of which every rank has
// a part (tensor parallelism), or makes a step of many (pipelines).
#pragma once

#include <vector>

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

// All ranks run one program, in Sessions with a World of `ranks` ranks (SessionOptions::world); x
// is what each has of its own: as many elements everywhere. Whoever trains with batches that are
// shared among ranks needs none of these: see Program::shards.
//
//   const Value half = matmul(x, columns);              // this rank's columns of a weight
//   const Value y = all_reduce(matmul(relu(half), rows), world.size());
//
// Sums are along the binary tree over the ranks' numbers, (x0 + x1) + (x2 + x3), and so depend on
// how many there are. With one rank every function gives x. Gradients are those of the sum of what
// all ranks differentiate: where all have one loss, each adds its own. They are not for branches
// and while loops, whose way may differ by rank, nor for programs with shards. A rank that fails
// ends the others' runs with a WorldError. Bytes are what each rank sends, for x of n bytes and W
// ranks.

/// The sum of x over all ranks, on all of them; f32, f64 or integers. 2 (W - 1) / W n bytes.
Value all_reduce(Arg x, int ranks);

/// x of all ranks, joined along an axis in the order of their numbers. (W - 1) n bytes.
Value all_gather(Arg x, int ranks, int axis = 0);

/// The sum of x over all ranks, of which rank r gets the r-th of W equal parts along an axis; f32,
/// f64 or integers. (W - 1) / W n bytes.
Value reduce_scatter(Arg x, int ranks, int axis = 0);

/// Of W equal parts along an axis rank r sends the s-th to rank s, where it becomes the r-th.
/// (W - 1) / W n bytes.
Value all_to_all(Arg x, int ranks, int axis = 0);

/// x of rank `root`, on all of them. (W - 1) n bytes from that rank, none from others.
Value broadcast_from(Arg x, int ranks, int root = 0);

/// Who sends to whom.
struct SendRecv {
  int from = 0;
  int to = 0;
};
/// x of rank `from`, on rank `to`, for each pair; zeros on ranks to which nobody sends. A rank
/// sends once and receives once at most. n bytes.
///   send_recv(x, 4, {{0, 1}, {1, 2}, {2, 3}})   // to the next stage of a pipeline
Value send_recv(Arg x, int ranks, const std::vector<SendRecv>& pairs);

/// The number of this rank, from 0: i64 scalar.
Value rank_number(Graph& graph, int ranks, SourceLocation loc = SourceLocation::current());

}  // namespace weft
