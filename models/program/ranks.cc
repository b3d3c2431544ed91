#include "weft/models/program/ranks.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/world/launcher.h"
#include "weft/core/world/text_list.h"
#include "weft/core/world/timed_transport.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/failure.h"
#ifdef WEFT_PROGRAM_MPI
#include "weft/core/mpi/mpi_transport.h"
#endif

namespace weft::program {
namespace {

/// The CPUs that this process may use, as a word that is the same for the same CPUs.
std::string cpus_of_process() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return "all";
  std::string word;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) word += CPU_ISSET(cpu, &set) ? '1' : '0';
  return word;
}

/// What ranks tell one another of how something went.
std::string to_word(const Failure& failure) {
  std::string word;
  append_text(word, std::to_string(static_cast<int>(failure.kind)));
  append_text(word, failure.message);
  return word;
}
Failure of_word(std::string_view word) {
  const std::vector<std::string> parts = split_texts(word);
  return {static_cast<Failure::Kind>(std::stoi(parts.at(0))), parts.at(1)};
}

}  // namespace

World connect_ranks() {
  if (!started_by_mpi()) return World();
#ifdef WEFT_PROGRAM_MPI
  return World(std::make_shared<TimedTransport>(connect_mpi()));
#else
  const LaunchedRank launched = launched_rank();
  if (launched.ranks == 1) return World();
  const UsageError error(fmt::format(
      "{} ranks were started of a program that was built without MPI: each would do all of the "
      "work (./run build --mpi, or CMake's -DWEFT_MPI=ON, builds one that shares it)",
      launched.ranks));
  if (launched.rank == 0) throw error;
  throw CommandFailed({Failure::Kind::usage, error.what()}, false);
#endif
}

void together(const World& world, FunctionRef<void()> body) {
  if (world.size() == 1) return body();
  std::string own;
  try {
    body();
  } catch (const WorldError&) {
    throw;
  } catch (...) {
    own = to_word(current_failure());
  }
  const std::vector<std::string> all = world.gather(own);
  const auto failed =
      std::find_if(all.begin(), all.end(), [](const std::string& word) { return !word.empty(); });
  if (failed == all.end()) return;
  Failure failure = of_word(*failed);
  const auto rank = static_cast<int>(failed - all.begin());
  if (rank != 0 && failure.kind != Failure::Kind::memory)
    failure.message = describe_rank(*world.transport(), rank) + ": " + failure.message;
  throw CommandFailed(std::move(failure), world.first());
}

std::string from_first(const World& world, FunctionRef<std::string()> read) {
  std::string text;
  together(world, [&] {
    if (world.first()) text = read();
  });
  return world.broadcast(text);
}

void Action::refuse(const World& world) {
  together(world, [&] {
    if (world.size() == 1) return;
    throw UsageError(fmt::format(
        "this command does its work on one rank, and {} were started: start it without mpirun",
        world.size()));
  });
}

int threads_of_rank(const World& world, int threads) {
  if (world.size() == 1) return threads;
  std::string own;
  append_text(own, world.transport()->host(world.rank()));
  append_text(own, cpus_of_process());
  const std::vector<std::string> all = world.gather(own);
  const auto sharing = static_cast<int>(std::count(all.begin(), all.end(), own));
  return threads > 0 ? threads : std::max(1, hardware_threads() / sharing);
}

}  // namespace weft::program
