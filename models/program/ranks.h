// Ranks of the program: processes that a launcher of MPI started with one command line.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "weft/core/parallel.h"
#include "weft/core/world/world.h"

namespace weft::program {

/// How long a rank may be silent before all end: WEFT_SILENCE in the environment ("300s", "500ms");
/// 30 s where it is not set. UsageError for what is no time, or none that ranks can keep.
std::chrono::milliseconds silence_of_ranks();

/// In worlds of how many ranks those of one host exchange with all others: WEFT_MOST_DIRECT in the
/// environment; 32 where it is not set. UsageError for what is no such number.
int most_direct_ranks();

/// The ranks that `transport` connects. They measure how long they wait for one another
/// (TimedTransport), and are groups as most_direct_ranks() says.
World world_over(std::shared_ptr<Transport> transport);

/// Connects this process with those that were started with it. One rank alone where no launcher of
/// MPI did that. UsageError where there are several and the program was built without MPI: on the
/// first of them, CommandFailed that says nothing on the others.
World connect_ranks();

/// Runs `body` on every rank: what comes before any work, and asks no other rank. Where it throws
/// on some, CommandFailed is thrown on all, with what the lowest of these says; rank 0 is to print
/// it. With one rank what it throws goes on.
void together(const World& world, FunctionRef<void()> body);
/// The same, and gives what `make` makes.
template <class Make>
requires(!std::is_void_v<std::invoke_result_t<Make&>>) std::invoke_result_t<Make&> together(
    const World& world, Make&& make) {
  std::optional<std::invoke_result_t<Make&>> made;
  const auto body = [&] { made.emplace(make()); };
  together(world, FunctionRef<void()>(body));
  return std::move(*made);
}

/// `text` of rank 0 on every rank: what only that one can read (stdin).
/// As together() where it cannot.
std::string from_first(const World& world, FunctionRef<std::string()> read);

/// How many threads this rank takes where it was asked for `threads`, 0 = all: those of its machine
/// that it may use, shared with the ranks that may use the same. Collective.
int threads_of_rank(const World& world, int threads);

}  // namespace weft::program
