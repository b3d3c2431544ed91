// What a launcher of MPI tells the processes that it starts. Needs no MPI.
#pragma once

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Whether a launcher of MPI (Open MPI's, MPICH's, Slurm's) started this process.
bool started_by_mpi();

/// Which of how many processes this one is, as its launcher says; the only one, where it says
/// nothing.
struct LaunchedRank {
  int rank = 0, ranks = 1;
};
LaunchedRank launched_rank();

}  // namespace weft
