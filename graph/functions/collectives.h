// Collective communication between the ranks of a World inside a program: for models that are
// partitioned across ranks, by tensor parallelism or as pipeline stages.
#pragma once

#include <vector>

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

// All ranks run the same program, in Sessions with a World of `ranks` ranks
// (SessionOptions::world). Each rank passes its local x, which must have the same number of
// elements on all ranks. Data-parallel training does not need these functions: see Program::shards.
//
//   const Value half = matmul(x, columns);              // this rank's columns of a weight
//   const Value y = all_reduce(matmul(relu(half), rows), world.size());
//
// Sums are evaluated along the binary tree over the rank numbers, (x0 + x1) + (x2 + x3), so their
// rounding depends on the number of ranks. With one rank, x is returned unchanged. Gradients are
// those of the sum of the losses of all ranks: if all ranks compute the same loss, each rank adds
// its own copy. Collectives cannot be used in branches and while loops, which may take different
// paths on different ranks, or in sharded programs. If a rank fails, the runs of the other ranks
// fail with a WorldError. The byte counts below are the bytes that each rank sends if x has n bytes
// and there are W ranks.

/// Returns the sum of x over all ranks, on every rank; f32, f64 or integers. Sends 2 (W - 1) / W n
/// bytes.
Value all_reduce(Arg x, int ranks);

/// Returns the concatenation of x over all ranks along an axis, in rank order. Sends (W - 1) n
/// bytes.
Value all_gather(Arg x, int ranks, int axis = 0);

/// Sums x over all ranks, splits the sum into W equal parts along an axis and returns part r on
/// rank r; f32, f64 or integers. Sends (W - 1) / W n bytes.
Value reduce_scatter(Arg x, int ranks, int axis = 0);

/// Splits x into W equal parts along an axis; part s of rank r becomes part r on rank s. Sends (W -
/// 1) / W n bytes.
Value all_to_all(Arg x, int ranks, int axis = 0);

/// Returns x of rank `root` on every rank. Rank `root` sends (W - 1) n bytes; the other ranks send
/// nothing.
Value broadcast_from(Arg x, int ranks, int root = 0);

/// A transfer from one rank to another.
struct SendRecv {
  int from = 0;
  int to = 0;
};
/// For each pair, rank `to` returns the x of rank `from`. Ranks that receive nothing return zeros.
/// A rank may send at most once and receive at most once. Sends n bytes.
///   send_recv(x, 4, {{0, 1}, {1, 2}, {2, 3}})   // to the next stage of a pipeline
Value send_recv(Arg x, int ranks, const std::vector<SendRecv>& pairs);

/// Returns the number of this rank, counted from 0, as an i64 scalar.
Value rank_number(Graph& graph, int ranks, SourceLocation loc = SourceLocation::current());

}  // namespace weft
