// A world within one process, in which every rank is a thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "weft/core/export.h"
#include "weft/core/parallel.h"
#include "weft/core/world/transport.h"

namespace WEFT_API weft {

/// Connects ranks that are threads of one process, for tests and for trying out a program for many
/// machines on a single one. With a seed, messages take random times, and some sends complete early
/// but others only when they are received. This reveals dependences on orders that are not
/// guaranteed.
class ThreadWorld {
 public:
  struct Options {
    /// Seed of the random delays; 0 = no delays.
    std::uint64_t seed = 0;
    /// The maximum delay of a message.
    std::chrono::microseconds max_delay{300};
    /// The number of consecutive ranks that report the same host name; 0 = every rank has its own.
    int per_host = 0;
    /// How long a rank may be stopped before the world is poisoned.
    std::chrono::milliseconds silence{10'000};
  };

  /// Throws ArgumentError for a size below 1.
  explicit ThreadWorld(int size);
  ThreadWorld(int size, const Options& options);

  int size() const;
  /// Returns the endpoint of a rank. A rank whose endpoint is destroyed has left: a rank that waits
  /// for a message that was not sent before poisons the world. Throws StateError if the rank is
  /// already connected.
  std::shared_ptr<Transport> connect(int rank);
  /// Simulate a crash of a rank (kill) and a machine that no longer responds (stop).
  void kill(int rank);
  void stop(int rank);

  /// Calls body(transport) for every rank on a separate thread. An exception on one rank poisons
  /// the world. After all threads have ended, rethrows the exception of the lowest rank that is not
  /// a WorldError, or a WorldError if there is no other.
  void run(FunctionRef<void(const std::shared_ptr<Transport>&)> body);

 private:
  struct Exchange;
  class Endpoint;
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace weft
