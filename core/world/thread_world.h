// A world within a single process, in which every rank is a thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "weft/core/export.h"
#include "weft/core/function_ref.h"
#include "weft/core/world/transport.h"

namespace WEFT_API weft {

/// Connects ranks that are threads in one process, for tests and for trying out multi-machine
/// programs on a single machine. With a seed, messages are delayed randomly, and some sends
/// complete early, whereas others complete only when they are received. This reveals code that
/// depends on an order that is not guaranteed.
class ThreadWorld {
 public:
  struct Options {
    /// Seed of the random delays; 0 = no delays.
    std::uint64_t seed = 0;
    /// The maximum delay of a message.
    std::chrono::microseconds max_delay{300};
    /// The number of consecutive ranks that report the same host name; 0 = every rank has its own
    /// host name.
    int per_host = 0;
    /// The time for which a rank may be stopped before the world is poisoned.
    std::chrono::milliseconds silence{10'000};
  };

  /// Throws ArgumentError if `size` is less than 1.
  explicit ThreadWorld(int size);
  ThreadWorld(int size, const Options& options);

  int size() const;
  /// Returns the endpoint of a rank. A rank has left once its endpoint is destroyed. If another
  /// rank then waits for a message that was not sent before that, the world is poisoned. Throws
  /// StateError if the rank is already connected.
  std::shared_ptr<Transport> connect(int rank);
  /// Simulate a crashed rank (kill) and a machine that no longer responds (stop).
  void kill(int rank);
  void stop(int rank);

  /// Calls body(transport) for every rank on a separate thread. An exception on one rank poisons
  /// the world. After all threads have ended, rethrows the exception from the lowest rank that
  /// threw something other than a WorldError, or a WorldError if there is no such rank.
  void run(FunctionRef<void(const std::shared_ptr<Transport>&)> body);

 private:
  struct Exchange;
  class Endpoint;
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace weft
