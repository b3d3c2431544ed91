#include "weft/models/program/distributed/ranks.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/core/excerpt.h"
#include "weft/core/world/launcher.h"
#include "weft/core/world/text_list.h"
#include "weft/core/world/timed_transport.h"
#include "weft/models/fields/numbers.h"
#include "weft/models/program/terminal/failure.h"
#include "weft/models/program/terminal/usage_error.h"
#ifdef WEFT_PROGRAM_MPI
#include "weft/core/mpi/mpi_transport.h"
#endif

namespace weft::program {
namespace {

/// Returns the set of CPUs that this process may use, as a string that can be compared for
/// equality.
std::string cpu_mask() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return "all";
  std::string word;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) word += CPU_ISSET(cpu, &set) ? '1' : '0';
  return word;
}

/// Encodes a failure as a string, to be sent to the other ranks.
std::string encode_failure(const Failure& failure) {
  std::string word;
  append_text(word, std::to_string(static_cast<int>(failure.kind)));
  append_text(word, failure.message);
  return word;
}
/// Decodes a string from encode_failure().
Failure decode_failure(std::string_view word) {
  const std::vector<std::string> parts = split_texts(word);
  return {static_cast<Failure::Kind>(std::stoi(parts.at(0))), parts.at(1)};
}

}  // namespace

std::chrono::milliseconds rank_silence_timeout() {
  const char* const asked = std::getenv("WEFT_SILENCE");
  if (asked == nullptr) return std::chrono::seconds(30);
  constexpr double kLeast = 0.2, kMost = 86'400;
  double seconds = 0;
  try {
    seconds = parse_duration("WEFT_SILENCE", asked);
  } catch (const ArgumentError&) {
  }
  if (seconds < kLeast || seconds > kMost) {
    throw UsageError(
        fmt::format("the environment variable WEFT_SILENCE (how long a rank may be silent) is "
                    "'{}', but must be a duration from 200ms to 86400s (such as 2s or 500ms)",
                    excerpt(asked)));
  }
  return std::chrono::milliseconds(std::llround(1000 * seconds));
}

int max_direct_ranks() {
  const char* const asked = std::getenv("WEFT_MOST_DIRECT");
  if (asked == nullptr) return WorldOptions().max_direct;
  try {
    return static_cast<int>(
        parse_integer("WEFT_MOST_DIRECT in the environment", asked, {.low = 1, .high = 1 << 20}));
  } catch (const ArgumentError& e) {
    throw UsageError(e.what());
  }
}

World world_over(std::shared_ptr<Transport> transport) {
  return World(std::make_shared<TimedTransport>(std::move(transport)),
               {.max_direct = max_direct_ranks()});
}

World connect_ranks() {
  if (!started_by_mpi()) return World();
  const LaunchedRank launched = launched_rank();
  try {
#ifdef WEFT_PROGRAM_MPI
    max_direct_ranks();  // reports an invalid value before the ranks connect
    return world_over(connect_mpi({.silence = rank_silence_timeout()}));
#else
    if (launched.ranks == 1) return World();
    throw UsageError(fmt::format(
        "{} ranks were started, but this program was built without MPI: every rank would do all of "
        "the work (build weft with ./run build --mpi, or with -DWEFT_MPI=ON in CMake)",
        launched.ranks));
#endif
  } catch (const UsageError& e) {
    if (launched.rank == 0) throw;
    // MPI launchers terminate all ranks once one has failed. Wait so that rank 0 can print the
    // error.
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    throw CommandFailed({Failure::Kind::usage, e.what()}, false);
  }
}

void on_all_ranks(const World& world, FunctionRef<void()> body) {
  if (world.size() == 1) return body();
  std::string own;
  try {
    body();
  } catch (const WorldError&) {
    throw;
  } catch (...) {
    own = encode_failure(current_failure());
  }
  const std::vector<std::string> all = world.gather(own);
  const auto failed =
      std::find_if(all.begin(), all.end(), [](const std::string& word) { return !word.empty(); });
  if (failed == all.end()) return;
  Failure failure = decode_failure(*failed);
  const auto rank = static_cast<int>(failed - all.begin());
  if (rank != 0 && failure.kind != Failure::Kind::memory)
    failure.message = describe_rank(*world.transport(), rank) + ": " + failure.message;
  throw CommandFailed(std::move(failure), world.first());
}

std::string from_first(const World& world, FunctionRef<std::string()> read) {
  std::string text;
  on_all_ranks(world, [&] {
    if (world.first()) text = read();
  });
  return world.broadcast(text);
}

int threads_of_rank(const World& world, int threads) {
  if (world.size() == 1) return threads;
  std::string own;
  append_text(own, world.transport()->host(world.rank()));
  append_text(own, cpu_mask());
  const std::vector<std::string> all = world.gather(own);
  const auto sharing = static_cast<int>(std::count(all.begin(), all.end(), own));
  return threads > 0 ? threads : std::max(1, hardware_threads() / sharing);
}

}  // namespace weft::program
