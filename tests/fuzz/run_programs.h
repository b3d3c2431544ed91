// Runs what was loaded from foreign bytes.
#pragma once

#include <cstddef>

#include "weft/serialization/checkpoint.h"

namespace weft::fuzz {

/// What a program may ask for to be run: more is only planned.
struct RunBounds {
  std::size_t bytes = std::size_t{16} << 20;  // of variables, feeds, outputs and the arena, each
  double flops = 1e7;
};

/// Plans every program of a checkpoint for a few small sizes (0, 1 and some more), checks the plan,
/// and runs what is within bounds, with dead memory poisoned and guards around buffers. A program
/// may refuse (an Error); anything else is a finding of who calls this.
void run_programs(const Checkpoint& checkpoint, const RunBounds& bounds = {});

}  // namespace weft::fuzz
