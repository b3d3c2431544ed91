// The transport between processes started by an MPI launcher. It is a separate library (weft::mpi,
// CMake option WEFT_MPI), so that the rest of Weft does not depend on MPI.
#pragma once

#include <chrono>
#include <memory>

#include "weft/core/export.h"
#include "weft/core/world/launcher.h"
#include "weft/core/world/transport.h"

namespace WEFT_API weft {

struct MpiOptions {
  /// Heartbeat timeout: the world is poisoned if no heartbeat of a rank arrives for this long. The
  /// value of rank 0 applies to all ranks. Heartbeats are sent by the transport's own thread, so
  /// long steps do not cause timeouts. The time for which a process is suspended (SIGSTOP) does not
  /// count towards the timeout of the rank that it monitors.
  std::chrono::milliseconds silence{30'000};
};

/// Connects this process with the processes that were started together with it. A process that was
/// started alone becomes the only rank. May be called once per process. MPI is initialised, used
/// and finalised on a single thread, which the transport owns. MPI only moves bytes; its reductions
/// are never used. The destructor of the transport waits until all other ranks have destroyed their
/// transports, unless the world is poisoned. The world is also poisoned if a rank waits for a rank
/// that has left. Throws StateError on the second call, and WorldError if MPI cannot be
/// initialised.
std::shared_ptr<Transport> connect_mpi(const MpiOptions& options = {});

}  // namespace weft
