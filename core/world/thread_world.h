// A world inside one process: a rank is a thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "weft/core/export.h"
#include "weft/core/parallel.h"
#include "weft/core/world/transport.h"

namespace WEFT_API weft {

/// Ranks that are threads of one process: for tests, and to try out a program for many machines on
/// one. With a seed messages take random times, some sends end early and others only when they are
/// received, so that what depends on an order that nobody promised shows itself.
class ThreadWorld {
 public:
  struct Options {
    /// Of the delays; 0 = there are none.
    std::uint64_t seed = 0;
    std::chrono::microseconds most_delay{300};
    /// So many neighbouring ranks have a host of one name; 0 = each has its own.
    int per_host = 0;
    /// How long a rank that was stopped may be silent before the world is poisoned.
    std::chrono::milliseconds silence{10'000};
  };

  /// Throws ArgumentError for a size below 1.
  explicit ThreadWorld(int size);
  ThreadWorld(int size, const Options& options);

  int size() const;
  /// The end of a rank, to be used while it is held. A rank whose end is dropped has left: who
  /// waits for a message that it has not sent poisons the world. Throws StateError for the second
  /// end of a rank.
  std::shared_ptr<Transport> connect(int rank);
  /// As a crash of the rank, and as a machine that no longer answers.
  void kill(int rank);
  void stop(int rank);

  /// Calls body(transport) for every rank on a thread of its own. What one throws poisons the
  /// world. Rethrows when all have ended: of the errors that are no WorldError the one of the
  /// lowest rank, else the WorldError.
  void run(FunctionRef<void(const std::shared_ptr<Transport>&)> body);

 private:
  struct Exchange;
  class End;
  std::shared_ptr<Exchange> exchange_;
};

}  // namespace weft
