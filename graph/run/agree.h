// Ranks compare what they are about to run.
#pragma once

#include "weft/core/world/handshake.h"
#include "weft/core/world/world.h"
#include "weft/graph/ir/program.h"
#include "weft/graph/run/session.h"

namespace WEFT_API weft {

/// What must be the same on all ranks that run `program` together, for the same bits: the protocol
/// and version of Weft, the build of the program that runs, the kernels for this CPU, the options
/// of the Session that bits depend on, the number of shards and the program itself.
Greeting greeting_of(const Program& program, const SessionOptions& options);

/// Collective: agree() on greeting_of(), where there are several ranks.
void agree_on_program(const World& world, const Program& program, const SessionOptions& options);

}  // namespace weft
