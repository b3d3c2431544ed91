// Threads. The implementation behind this header (parallel.cc) is the only file that includes TBB.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <type_traits>
#include <utility>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// A non-owning reference to a callable, for parameters. The callable must outlive the call.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, FunctionRef>>>
  FunctionRef(F&& f)  // NOLINT(google-explicit-constructor)
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* o, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(o))(std::forward<Args>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, std::forward<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

struct WorkersOptions {
  /// Number of worker slots; 0 means one per hardware thread. Never more than asked for run at
  /// once.
  int threads = 0;
  /// Test mode: when not 0, chunks are handed out in a shuffled order, with random small delays, so
  /// that a hidden dependence on order shows.
  std::uint64_t shuffle_seed = 0;
};

/// A set of worker slots (the caller and a TBB arena of helpers). Results must not depend on how
/// chunks are assigned: chunk counts follow from shapes only and partial results are combined in
/// index order.
class Workers {
 public:
  explicit Workers(WorkersOptions options = {});
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Worker slots; body is called with slot in [0, slots()).
  int slots() const;

  /// Calls body(chunk, slot) once for every chunk in [0, chunks) and returns when all are done. No
  /// two calls have the same slot at the same time. The floating-point environment (MXCSR) is the
  /// default in every call: round to nearest, denormals kept. The first exception is rethrown here.
  ///
  /// `cost_ns` is a guess of the time that all chunks take on one thread. What is not worth sharing
  /// runs on the calling thread in order (slot 0): less than about 5 us, or 20 us where nobody is
  /// awake to help. Threads that have helped look for more for 100 us before they sleep.
  void for_chunks(std::int64_t chunks, FunctionRef<void(std::int64_t chunk, int slot)> body,
                  double cost_ns = std::numeric_limits<double>::infinity());

  /// For tests: how much really ran in parallel since the last reset.
  struct Statistics {
    std::int64_t parallel_chunks = 0;  // chunks of what was worth sharing
    int distinct_slots = 0;            // slots that ran at least one of them
  };
  Statistics statistics() const;
  void reset_statistics();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Hardware threads that this process may use (respects CPU affinity).
int hardware_threads();

}  // namespace weft
