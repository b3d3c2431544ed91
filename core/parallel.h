// Multithreading. The implementation (parallel.cc) is the only file in Weft that includes TBB
// headers.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "weft/core/export.h"
#include "weft/core/function_ref.h"

namespace WEFT_API weft {

struct WorkersOptions {
  /// The number of worker slots, which is also the maximum number of threads that run at the same
  /// time; 0 means one per hardware thread.
  int threads = 0;
  /// Test mode: if not 0, chunks run in a shuffled order with small random delays, which reveals
  /// hidden dependences on the order.
  std::uint64_t shuffle_seed = 0;
};

/// A set of worker slots: the calling thread and a TBB arena of worker threads. Results must not
/// depend on how chunks are assigned to slots. Callers therefore derive the number of chunks from
/// shapes only, and combine partial results in the order of the chunks.
class Workers {
 public:
  explicit Workers(WorkersOptions options = {});
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Returns the number of worker slots. Bodies are called with a slot in [0, slots()).
  int slots() const;

  /// Calls body(chunk, slot) once for every chunk in [0, chunks) and returns when all are done. No
  /// two concurrent calls have the same slot. Every call runs in the default floating-point
  /// environment (MXCSR): round to nearest, denormals kept. The first exception is rethrown to the
  /// caller.
  ///
  /// `cost_ns` is an estimate of the time that all chunks take on one thread. Work that is too
  /// small to be worth sharing runs on the calling thread (slot 0), in order. The threshold is
  /// about 5 us, or 20 us if no worker is awake. Workers that run out of work spin for 100 us
  /// before they sleep.
  void for_chunks(std::int64_t chunks, FunctionRef<void(std::int64_t chunk, int slot)> body,
                  double cost_ns = std::numeric_limits<double>::infinity());

  /// The amount of work that has run in parallel since the last reset; for tests.
  struct Statistics {
    std::int64_t parallel_chunks = 0;  // chunks that were distributed
    int distinct_slots = 0;            // number of slots that ran at least one of these chunks
  };
  Statistics statistics() const;
  void reset_statistics();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Returns the number of hardware threads that this process may use (respects CPU affinity).
int hardware_threads();

}  // namespace weft
