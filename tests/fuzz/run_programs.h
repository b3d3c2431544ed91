// Runs the programs of an untrusted checkpoint.
#pragma once

#include <cstddef>

#include "weft/serialization/checkpoint.h"

namespace weft::fuzz {

/// Limits for running a program. A program that exceeds them is planned but not run.
struct RunBounds {
  /// Maximum size in bytes of each variable, feed and output, of the arena, and of the scratch
  /// memory of a slot.
  std::size_t bytes = std::size_t{16} << 20;
  double flops = 1e7;
};

/// Plans every program of a checkpoint for a few small sizes (0, 1 and others), verifies the plans,
/// and runs the programs that are within `bounds`, with poisoned freed memory and guarded buffers.
/// An Error is an accepted result; anything else is a bug that the caller detects.
void run_programs(const Checkpoint& checkpoint, const RunBounds& bounds = {});

}  // namespace weft::fuzz
