// The ranks of the program: processes that an MPI launcher has started with one command line.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "weft/core/parallel.h"
#include "weft/core/world/world.h"

namespace weft::program {

/// Returns how long a rank may be silent before all ranks abort: WEFT_SILENCE in the environment
/// ("300s", "500ms"), or 30 s if it is not set. Throws UsageError if the value is not a duration or
/// is out of range.
std::chrono::milliseconds rank_silence_timeout();

/// Returns the largest number of ranks that all exchange data directly (WorldOptions::most_direct);
/// with more ranks, those of one host form a group. The value is WEFT_MOST_DIRECT in the
/// environment, or 32 if it is not set. Throws UsageError if it is not a valid number.
int most_direct_ranks();

/// Returns a World of the ranks that `transport` connects. It measures how long they wait for one
/// another (TimedTransport), and groups them according to most_direct_ranks().
World world_over(std::shared_ptr<Transport> transport);

/// Connects this process with the others that were started with it. Returns a World of one rank if
/// no MPI launcher started the process. If there are several ranks but the program was built
/// without MPI, throws UsageError on rank 0, and a CommandFailed that is not printed on the others.
World connect_ranks();

/// Runs `body` on every rank: checks and preparations before the actual computation, which must not
/// communicate with other ranks. If `body` throws on some ranks, all ranks throw CommandFailed with
/// the error of the lowest of them, which rank 0 prints. With one rank, exceptions propagate
/// unchanged.
void on_all_ranks(const World& world, FunctionRef<void()> body);
/// As above, and returns the result of `make`.
template <class Make>
requires(!std::is_void_v<std::invoke_result_t<Make&>>) std::invoke_result_t<Make&> on_all_ranks(
    const World& world, Make&& make) {
  std::optional<std::invoke_result_t<Make&>> made;
  const auto body = [&] { made.emplace(make()); };
  on_all_ranks(world, FunctionRef<void()>(body));
  return std::move(*made);
}

/// Returns on every rank what `read` returns on rank 0: input that only that rank can read (stdin).
/// Throws as on_all_ranks() if `read` fails.
std::string from_first(const World& world, FunctionRef<std::string()> read);

/// Returns the number of threads that this rank should use, given the requested number; 0 = all
/// CPUs of the machine that it may use, divided among the ranks that may use the same CPUs.
/// Collective.
int threads_of_rank(const World& world, int threads);

}  // namespace weft::program
