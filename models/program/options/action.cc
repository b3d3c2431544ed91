#include "weft/models/program/options/action.h"

#include <fmt/format.h>

#include "weft/models/program/distributed/ranks.h"
#include "weft/models/program/terminal/usage_error.h"

namespace weft::program {

void Action::refuse(const World& world) {
  on_all_ranks(world, [&] {
    if (world.size() == 1) return;
    throw UsageError(fmt::format(
        "this command runs on one rank, but {} were started: run it without mpirun", world.size()));
  });
}

}  // namespace weft::program
