// The thread pool that implements Workers: distributes the chunks of a phase by work stealing. It
// does not start threads itself; parallel.cc provides the worker threads (TBB threads or
// std::thread).
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include "weft/core/parallel.h"

namespace WEFT_API weft {

/// Runs phases of independent chunks on the thread that calls run() and on worker threads.
///
/// A worker that finds no more chunks spins for kSpinMicroseconds before it leaves. A spinning
/// worker starts the next phase in less than a microsecond, while waking a sleeping thread takes 20
/// to 50 us. The caller never waits for a thread that starts late: threads claim individual chunks,
/// and the caller runs all chunks that no other thread claims and waits only for claimed chunks. A
/// thread that the operating system has preempted therefore delays the phase only if it is inside a
/// chunk.
///
/// Every slot starts with a range of consecutive chunks. A slot that has run out of chunks steals
/// half of another slot's range. Ranges are used because consecutive chunks mostly read contiguous
/// memory: two threads that alternate between pieces of 64 KiB reach only 0.6 times the read
/// bandwidth of two threads that each read one long range.
///
/// The caller has slot 0. The pool must be owned by a shared_ptr, because a worker that starts late
/// may outlive the Workers.
class ThreadPool {
 public:
  using Body = FunctionRef<void(std::int64_t chunk, int slot)>;
  /// Submits one task that calls worker_loop(); the task may run late, or never.
  using Submit = FunctionRef<void()>;

  static constexpr int kSpinMicroseconds = 100;

  explicit ThreadPool(int slots);

  /// Calls body(order[i], slot) for every i in [0, chunks), or body(i, slot) if `order` is null, on
  /// the calling thread and on up to `workers` workers; submits tasks for missing workers. Only one
  /// call may run at a time. If several chunks throw, rethrows the exception of the first one in
  /// the given order, regardless of how the chunks were distributed: later chunks are cancelled
  /// unless they have started, and earlier ones still run.
  void run(std::int64_t chunks, const std::int64_t* order, Body body, int workers, Submit submit);

  /// The main function of a worker thread. Runs chunks until no chunk has been available for
  /// kSpinMicroseconds or shutdown() is called. Does not throw.
  void worker_loop();

  /// Returns the number of workers that are running or submitted.
  int workers() const { return workers_.load(std::memory_order_relaxed); }

  /// Makes spinning workers leave the pool. run() must not be called afterwards.
  void shutdown();

  /// Returns the number of chunks that `slot` has run so far.
  std::int64_t chunks_of(int slot) const;
  void clear_counts();
  void count(int slot, std::int64_t chunks);

 private:
  // Padded, so that no two slots share a cache line.
  struct alignas(64) Slot {
    std::atomic<std::uint64_t> unclaimed{0};  // a ChunkRange (thread_pool.cc), packed
    std::atomic<bool> taken{false};
    std::atomic<std::int64_t> chunks{0};
  };

  // No chunk. The value is not -1, because -1 would be the predecessor of chunk 0.
  static constexpr int kNone = -2;

  void run_phase(std::int64_t first, int chunks, int workers, Submit submit);
  int claim(int slot, int last);
  int claim_own(int slot, std::uint32_t phase);
  int steal(int slot, std::uint32_t phase, int last);
  void cancel_after(int position);
  void run_chunks(int position, int slot);
  void wait_for_claimed();
  int spin(int slot);
  int take_slot();
  bool rejoin();
  bool has_unclaimed() const;

  // The number of the current phase. Chunks cannot be claimed from ranges with a different phase
  // number. The number is incremented once all ranges have been written. The next three members
  // describe the phase; a thread may read them after claiming a chunk and before reporting the
  // chunk as done.
  alignas(64) std::atomic<std::uint32_t> phase_{0};
  std::int64_t first_ = 0;
  const std::int64_t* order_ = nullptr;
  const Body* body_ = nullptr;

  alignas(64) std::atomic<std::uint32_t> pending_{0};  // chunks neither done nor cancelled
  alignas(64) std::atomic<int> workers_{0};
  std::atomic<bool> shutdown_{false};

  std::mutex error_mutex_;
  std::exception_ptr error_;
  int error_position_ = 0;

  std::vector<Slot> slots_;
};

}  // namespace weft
