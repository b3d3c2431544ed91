// Comparison of a program across ranks before they run it.
#pragma once

#include "weft/core/world/handshake.h"
#include "weft/core/world/world.h"
#include "weft/graph/engine/session_options.h"
#include "weft/graph/ir/program.h"

namespace WEFT_API weft {

/// Returns the handshake fields. They must be equal on all ranks that run `program` together, so
/// that results are bit-identical: the protocol and version of Weft, the build of the executable,
/// the instruction set of the kernels, the Session options that affect the bits of results, the
/// number of shards and the program itself.
Handshake handshake_of(const Program& program, const SessionOptions& options);

/// Collective. Calls agree() with handshake_of() if there are several ranks.
void agree_on_program(const World& world, const Program& program, const SessionOptions& options);

}  // namespace weft
