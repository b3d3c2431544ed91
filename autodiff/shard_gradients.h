// Gradients through sums over shards.
#pragma once

#include <vector>

#include "weft/core/export.h"
#include "weft/core/function_ref.h"
#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// A backward sweep: returns the gradient of the outputs, with the given cotangents, with respect
/// to each of `wrt`; undefined if no output depends on the value.
using BackwardSweep = FunctionRef<std::vector<Value>(const std::vector<Value>& outputs,
                                                     const std::vector<Value>& cotangents,
                                                     const std::vector<Value>& wrt)>;

/// Returns the result of `sweep` if the graph contains no sums over shards. Otherwise, runs one
/// sweep for the values after the last sum, one for those before it, and so on. `joined` is
/// described at gradients_for(). Throws GradientError if a gradient reaches a shard_concat().
std::vector<Value> sweep_through_shards(Graph& graph, BackwardSweep sweep,
                                        const std::vector<Value>& outputs,
                                        const std::vector<Value>& cotangents,
                                        const std::vector<Value>& wrt,
                                        const std::vector<Value>& joined);

/// Returns the elements of `values` that differ by shard if `loss` is computed from shards, and an
/// empty list otherwise.
std::vector<Value> values_of_shards(Value loss, const std::vector<Value>& values);

}  // namespace weft
