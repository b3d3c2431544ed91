// Distributes independent runs over ranks.
#pragma once

#include <cstdint>
#include <string>

#include "weft/core/function_ref.h"
#include "weft/core/world/world.h"
#include "weft/graph/run/session.h"

namespace WEFT_API weft {

/// For each i in [0, count), calls make(i) on one rank and use(i, result) on every rank. Calls to
/// use() are in order. Indices are assigned round-robin, which balances lists that are sorted by
/// size. This function is collective and throws WorldError. If make() may throw, the caller must
/// notify the other ranks (World::poison_on_error).
void distribute_over_ranks(const World& world, std::int64_t count,
                           FunctionRef<std::string(std::int64_t i)> make,
                           FunctionRef<void(std::int64_t i, const std::string& made)> use);

/// Runs `program` with inputs(i) for each i in [0, count) and calls use(i, results) for each i in
/// order. If the Session has a World with several ranks, each run is executed on one rank, and
/// every rank receives the bit-identical results of all runs. A program that updates variables, for
/// example random keys, runs on every rank, so that all ranks have the same variables. This
/// function is collective.
void run_distributed(Session& session, const Program& program, std::int64_t count,
                     FunctionRef<NamedTensors(std::int64_t i)> inputs,
                     FunctionRef<void(std::int64_t i, const Results& results)> use);

}  // namespace weft
