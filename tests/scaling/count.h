// How work grows with its input, counted and not timed: the same on every machine and under any
// load.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "weft/graph/ir/program.h"
#include "weft/graph/run/session.h"

namespace weft::scaling {

/// What something of size T took: "steps of fuse", "bytes of the arena", ...
using Counts = std::map<std::string, double>;

/// Bytes that this thread has asked operator new for since the program began. Whatever copies what
/// it has again and again shows here.
std::uint64_t allocated_bytes();

/// The bytes that `work` allocates.
double bytes_of(const std::function<void()>& work);
/// How often it does: for what appends to one string or vector, whose bytes double in steps.
double allocations_of(const std::function<void()>& work);

/// Steps of every pass over the program, and the nodes that are left.
Counts pass_counts(const Program& program);

/// Bytes of the plan (arena, scratch of a worker) and bytes and FLOPs that a run moves and
/// computes.
Counts plan_counts(Graph& graph, const Program& program, const NamedSizes& feeds);

/// Checks that from 2T to 4T at most twice as much is added as from T to 2T, and a tenth (a
/// quadratic part would add four times as much). `counts` is asked for `size`, 2 and 4 times it.
void check_linear(const std::function<Counts(int)>& counts, int size);

}  // namespace weft::scaling
