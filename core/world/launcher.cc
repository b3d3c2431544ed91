#include "weft/core/world/launcher.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>

namespace weft {
namespace {

// Returns the value of the first environment variable in `names` that contains a number, or
// `otherwise` if there is none.
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
  // Set by Open MPI, by Hydra (the launcher of MPICH), and by Slurm with PMIx.
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"}) {
    if (std::getenv(name) != nullptr) return true;
  }
  return false;
}

LaunchedRank launched_rank() {
  if (!started_by_mpi()) return {};
  // Slurm also sets SLURM_STEP_NUM_TASKS in shells that were not started by a launcher, so this
  // variable is only used as a last resort, with PMIx.
  const int ranks = number_in({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"}, 1);
  return {number_in({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}, 0), std::max(1, ranks)};
}

}  // namespace weft
