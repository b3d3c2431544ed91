// The transport between processes that an MPI launcher started. A library of its own
// (weft::mpi, CMake option WEFT_MPI): nothing else of Weft needs MPI.
#pragma once

#include <chrono>
#include <memory>

#include "weft/core/export.h"
#include "weft/core/world/launcher.h"
#include "weft/core/world/transport.h"

namespace WEFT_API weft {

struct MpiOptions {
  /// How long a rank may be silent before the world is poisoned; what rank 0 has counts. Ranks say
  /// that they are there from a thread that does nothing else, however long a step takes. Time in
  /// which a process is stopped itself does not count for those that it listens to.
  std::chrono::milliseconds silence{30'000};
};

/// Connects this process with those that were started with it (as one rank, if it was started
/// alone); once in a process. MPI is initialised, used and finalised on one thread, which the
/// transport owns; it moves bytes only, and its sums are never used. The end of the transport waits
/// for that of all others, unless the world is poisoned: those who wait for a rank that has left do
/// that. Throws StateError the second time, and
/// WorldError where MPI does not start.
std::shared_ptr<Transport> connect_mpi(const MpiOptions& options = {});

}  // namespace weft
