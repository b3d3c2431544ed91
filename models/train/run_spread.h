// Runs that do not depend on one another, spread over ranks.
#pragma once

#include <cstdint>
#include <string>

#include "weft/core/parallel.h"
#include "weft/core/world/world.h"
#include "weft/graph/run/session.h"

namespace WEFT_API weft {

/// Calls make(i) for every i in [0, count), each on one rank, and use(i, what it made) for all of
/// them on every rank, in order. Ranks take turns, so that they share uneven numbers and lists
/// sorted by size. Collective; throws WorldError. What make() throws is for the caller to tell the
/// other ranks (World::or_poison).
void spread_over_ranks(const World& world, std::int64_t count,
                       FunctionRef<std::string(std::int64_t i)> make,
                       FunctionRef<void(std::int64_t i, const std::string& made)> use);

/// Runs `program` for inputs(i), i in [0, count), and calls use(i, results) for each, in order.
/// With one rank one after the other; where the Session has a World of several, each run is made on
/// one of them, and every rank is given the results of all: the same bits. A program that draws
/// random numbers is run on every rank, so that their random keys stay equal. Collective.
void run_spread(Session& session, const Program& program, std::int64_t count,
                FunctionRef<NamedTensors(std::int64_t i)> inputs,
                FunctionRef<void(std::int64_t i, const Results& results)> use);

}  // namespace weft
