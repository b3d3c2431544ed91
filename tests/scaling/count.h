// Measures how work grows with its input by counting instead of timing, which gives the same
// numbers on every machine and under any load.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "weft/graph/ir/program.h"
#include "weft/graph/run/session.h"

namespace weft::scaling {

/// Costs of an input of size T, by name: "steps of fuse", "bytes of the arena", ...
using Counts = std::map<std::string, double>;

/// Bytes that this thread has requested from operator new since the program started. Repeated
/// copying shows up here.
std::uint64_t allocated_bytes();

/// The number of bytes that `work` allocates.
double bytes_of(const std::function<void()>& work);
/// The number of allocations of `work`. Use this for code that appends to one string or vector,
/// because its capacity grows by doubling.
double allocations_of(const std::function<void()>& work);

/// Steps of every pass over the program, and the number of remaining nodes.
Counts pass_counts(const Program& program);

/// Bytes of the plan (arena, and scratch of a worker), and the bytes moved and FLOPs computed by a
/// run.
Counts plan_counts(Graph& graph, const Program& program, const NamedSizes& feeds);

/// Checks that the increase from 2T to 4T is at most twice the increase from T to 2T, plus a tenth
/// (a quadratic term would increase four times as much). `counts` is called with `size`, 2 * `size`
/// and 4 * `size`.
void check_linear(const std::function<Counts(int)>& counts, int size);

}  // namespace weft::scaling
