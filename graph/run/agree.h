// Ranks compare what they are about to run.
#pragma once

#include "weft/core/world/world.h"
#include "weft/graph/ir/program.h"
#include "weft/graph/run/session.h"

namespace WEFT_API weft {

/// Collective. Throws ArgumentError, on all ranks, unless they have the same version of Weft, the
/// same kernels for their CPUs, Session options that lead to the same bits, and the same program
/// with its shards: the message names two ranks and what each has.
void agree_on_program(const World& world, const Program& program, const SessionOptions& options);

}  // namespace weft
