#include "weft/core/world/launcher.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>

namespace weft {
namespace {

// The first of these variables that holds a number; `otherwise` where none does.
int number_in(std::initializer_list<const char*> names, int otherwise) {
  for (const char* name : names) {
    const char* text = std::getenv(name);
    char* end = nullptr;
    if (text == nullptr) continue;
    const long number = std::strtol(text, &end, 10);
    if (end != text && number >= 0 && number < (1 << 30)) return static_cast<int>(number);
  }
  return otherwise;
}

}  // namespace

bool started_by_mpi() {
  // Of Open MPI, of MPICH's Hydra, of Slurm with PMIx.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

LaunchedRank launched_rank() {
  if (!started_by_mpi()) return {};
  // Slurm sets its number of tasks in shells without a launcher, too: it counts beside PMIx alone.
  const int ranks = number_in({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}, 1);
  return {number_in({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}, 0), std::max(1, ranks)};
}

}  // namespace weft
