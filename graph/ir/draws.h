// Which nodes draw random numbers, from which keys, and under which stream numbers: also for draws
// inside the functions that a node calls.
//
// Draws of one key are told apart by their stream numbers. A function's body numbers its own draws;
// a call has a block of numbers of the calling graph for itself, and its attribute `stream` is the
// first of them: number k of the body is number `stream` + k where the call stands. So two calls of
// one function draw different numbers, and every copy of one call (its body put in its place, its
// derivative, a recomputed clone, what a file says) draws the same ones.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/random.h"
#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// Whether `name` is a stream number of nodes of this op.
bool is_stream(const OpRecord& op, std::string_view name);

/// How many stream numbers a call of `function` (one of `graph`) takes: 0 where nothing in it
/// draws. The function that gives its gradient shares them: draw k there is draw k here.
std::int64_t stream_count(const Graph& graph, const Function& function);

/// The inputs of `function`, by number, that the keys it draws from are made of.
std::vector<std::size_t> drawn_inputs(const Function& function);

/// The keys that `node` draws from, in its graph: none if it draws nothing.
std::vector<Value> drawn_keys(const Node& node);

/// Whether `node` draws random numbers.
bool draws(const Node& node);

/// The attributes of `node`, of a body whose numbers begin at `first` in another graph;
/// `attributes` are its own as they are there otherwise.
Attributes with_streams_from(std::int64_t first, const Node& node, Attributes attributes);

}  // namespace weft
