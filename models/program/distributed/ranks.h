// The ranks of the program, which are processes that an MPI launcher starts with the same command
// line.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "weft/core/function_ref.h"
#include "weft/core/world/world.h"

namespace weft::program {

/// Returns the time that a rank may be silent before all ranks abort. The value of the environment
/// variable WEFT_SILENCE is used (such as "300s" or "500ms"), or 30 s if the variable is not set.
/// Throws UsageError if the value is not a duration or is out of range.
std::chrono::milliseconds rank_silence_timeout();

/// Returns the maximum number of ranks at which every rank exchanges data with every other rank
/// directly (WorldOptions::max_direct). If there are more ranks, the ranks on each host form a
/// group. The value of the environment variable WEFT_MOST_DIRECT is used, or 32 if the variable is
/// not set. Throws UsageError if the value is not a valid number.
int max_direct_ranks();

/// Returns a World of the ranks that `transport` connects. The World measures how long ranks wait
/// for each other (TimedTransport), and forms groups of ranks according to max_direct_ranks().
World world_over(std::shared_ptr<Transport> transport);

/// Connects this process with the processes that the MPI launcher started together with it. Returns
/// a World of one rank if no MPI launcher started the process. If there are several ranks but the
/// program was built without MPI, throws UsageError on rank 0. The other ranks throw CommandFailed,
/// which is not printed.
World connect_ranks();

/// Runs `body` on every rank. `body` performs checks and preparations before the actual computation
/// and must not communicate with other ranks. If `body` throws on some ranks, all ranks throw
/// CommandFailed with the error from the lowest of these ranks, and rank 0 prints it. If there is a
/// single rank, exceptions propagate unchanged.
void on_all_ranks(const World& world, FunctionRef<void()> body);
/// As above. Returns the result of `make`.
template <class Make>
requires(!std::is_void_v<std::invoke_result_t<Make&>>) std::invoke_result_t<Make&> on_all_ranks(
    const World& world, Make&& make) {
  std::optional<std::invoke_result_t<Make&>> made;
  const auto body = [&] { made.emplace(make()); };
  on_all_ranks(world, FunctionRef<void()>(body));
  return std::move(*made);
}

/// Calls `read` on rank 0 and returns its result on every rank. Used for input that only rank 0 can
/// read, such as stdin. If `read` throws, all ranks throw CommandFailed as in on_all_ranks().
std::string from_first(const World& world, FunctionRef<std::string()> read);

/// Returns the number of threads that this rank should use. `threads` is the requested number. If
/// it is 0, the CPUs that this rank may use are divided among all ranks that may use the same CPUs.
/// Collective.
int threads_of_rank(const World& world, int threads);

}  // namespace weft::program
