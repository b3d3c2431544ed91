// Reads the environment variables set by MPI launchers. Does not depend on MPI.
#pragma once

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Returns true if an MPI launcher (of Open MPI, MPICH or Slurm) started this process.
bool started_by_mpi();

/// The rank of this process and the number of ranks.
struct LaunchedRank {
  int rank = 0, ranks = 1;
};
/// Returns the rank according to the launcher, or rank 0 of 1 if no launcher has set one.
LaunchedRank launched_rank();

}  // namespace weft
