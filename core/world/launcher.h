// Reads the environment variables that MPI launchers set. Does not depend on MPI.
#pragma once

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns true if this process was started by an MPI launcher (Open MPI, MPICH or Slurm).
bool started_by_mpi();

/// The rank of this process and the number of ranks.
struct LaunchedRank {
  int rank = 0, ranks = 1;
};
/// Returns the rank and the number of ranks set by the launcher, or rank 0 of 1 if no launcher has
/// set them.
LaunchedRank launched_rank();

}  // namespace weft
