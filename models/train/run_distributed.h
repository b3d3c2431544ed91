// Distribution of independent runs over ranks.
#pragma once

#include <cstdint>
#include <string>

#include "weft/core/parallel.h"
#include "weft/core/world/world.h"
#include "weft/graph/run/session.h"

namespace WEFT_API weft {

/// Calls make(i) on one rank for each i in [0, count), and use(i, result) on every rank for each i
/// in order. Indices are assigned round-robin, which balances lists that are sorted by size.
/// Collective; throws WorldError. If make() may throw, the caller must inform the other ranks
/// (World::poison_on_error).
void distribute_over_ranks(const World& world, std::int64_t count,
                           FunctionRef<std::string(std::int64_t i)> make,
                           FunctionRef<void(std::int64_t i, const std::string& made)> use);

/// Runs `program` with inputs(i) for each i in [0, count) and calls use(i, results) for each i in
/// order. If the Session has a World of several ranks, each run is executed on one rank, and every
/// rank receives the results of all runs, with the same bits on every rank. A program with updates,
/// such as one that draws random numbers, runs on every rank, so that the random keys stay equal.
/// Collective.
void run_distributed(Session& session, const Program& program, std::int64_t count,
                     FunctionRef<NamedTensors(std::int64_t i)> inputs,
                     FunctionRef<void(std::int64_t i, const Results& results)> use);

}  // namespace weft
