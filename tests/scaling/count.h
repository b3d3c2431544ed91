// Measures how the work grows with the input. The work is counted instead of timed, so the numbers
// are the same on every machine and under any load.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "weft/graph/ir/program.h"
#include "weft/graph/run/session.h"

namespace weft::scaling {

/// Costs for an input of size T, by name: "steps of fuse", "bytes of the arena", ...
using Counts = std::map<std::string, double>;

/// Returns the bytes that this thread has requested from operator new since the program started.
/// Repeated copying is visible in this number.
std::uint64_t allocated_bytes();

/// Returns the number of bytes that `work` allocates.
double bytes_of(const std::function<void()>& work);
/// Returns the number of allocations in `work`. Use this for code that appends to one string or
/// vector, because its capacity grows by doubling.
double allocations_of(const std::function<void()>& work);

/// Returns the number of steps of every pass on the program, and the number of remaining nodes.
Counts pass_counts(const Program& program);

/// Returns the bytes in the plan (arena, and scratch memory of a worker), and the bytes moved and
/// FLOPs computed in a run.
Counts plan_counts(Graph& graph, const Program& program, const NamedSizes& feeds);

/// Checks that the increase from 2T to 4T is at most twice the increase from T to 2T, plus a tenth
/// (with a quadratic term, it would be four times as large). `counts` is called with `size`, 2 *
/// `size` and 4 * `size`.
void check_linear(const std::function<Counts(int)>& counts, int size);

}  // namespace weft::scaling
