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
  /// Heartbeat timeout: how long a rank may be silent before the world is poisoned. Rank 0's value
  /// is used. The transport's own thread sends the heartbeats, so the duration of a step does not
  /// matter. The time during which a process is itself stopped does not count towards the silence
  /// of the rank that it monitors.
  std::chrono::milliseconds silence{30'000};
};

/// Connects this process with the processes that were started together with it (as the only rank,
/// if it was started alone). May be called once per process. MPI is initialised, used and finalised
/// on a single thread, which the transport owns. MPI only moves bytes; its reductions are never
/// used. The destructor of the transport waits until all other ranks have destroyed theirs, unless
/// the world is poisoned, which also happens if a rank waits for one that has left. Throws
/// StateError on the second call, and WorldError if MPI cannot be initialised.
std::shared_ptr<Transport> connect_mpi(const MpiOptions& options = {});

}  // namespace weft
