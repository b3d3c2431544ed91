// Random draws of nodes: which nodes draw, from which keys and with which stream numbers. Draws
// inside the functions that a node calls are included.
//
// Draws from the same key are distinguished by their stream numbers. The stream numbers of a
// function body are local to the body. Each call reserves a block of stream numbers of the calling
// graph. The block begins at the call's attribute `stream`: stream k of the body is stream `stream`
// + k of the caller. Two calls of one function therefore draw different numbers, while all copies
// of one call (inlined, differentiated, rematerialised or read from a file) draw the same numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/core/random.h"
#include "weft/graph/ir/graph.h"

namespace WEFT_API weft {

/// Returns true if attribute `name` of this op holds a stream number.
bool is_stream(const OpRecord& op, std::string_view name);

/// Returns the number of stream numbers that a call of `function` (a function of `graph`) reserves:
/// 0 if neither the function nor its gradient draws random numbers. A custom gradient shares the
/// stream numbers of its function: stream k is the same in both.
std::int64_t stream_count(const Graph& graph, const Function& function);

/// Returns the indices of the inputs of `function` from which its random keys are derived.
std::vector<std::size_t> random_key_inputs(const Function& function);

/// Returns the keys that `node` draws from, as values of its graph; empty if it does not draw.
std::vector<Value> random_keys(const Node& node);

/// Returns true if `node`, or a function that it calls, draws random numbers.
bool draws(const Node& node);

/// Returns `attributes` with the stream number of `node` shifted by `first`. Used when `node` is
/// copied into a graph in which the stream numbers of the body begin at `first`; `attributes` are
/// the attributes of the copy before the shift.
Attributes with_streams_from(std::int64_t first, const Node& node, Attributes attributes);

}  // namespace weft
