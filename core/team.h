// Sharing chunks among threads that linger: what Workers do, whatever their threads come from.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include "weft/core/parallel.h"

namespace weft {

/// The caller of run() and the helpers that come to its aid. A helper that has found work lingers
/// when there is no more: it looks for the next phase for kLingerMicroseconds, so that a run of
/// many short phases starts each of them in less than a microsecond, and then leaves (waking a
/// sleeping thread takes 20 to 50 us). Threads that are merely late are never waited for: chunks
/// are claimed one by one, the caller takes what nobody else does, and only claimed chunks are
/// waited for. A thread that the operating system has taken off its CPU therefore delays nobody,
/// unless it holds a chunk.
///
/// The caller has slot 0. Used through a shared_ptr: helpers that were asked for and come late may
/// outlive the Workers.
class Team {
 public:
  using Body = FunctionRef<void(std::int64_t chunk, int slot)>;
  /// Asks for a thread that calls help() once; it may come late.
  using Ask = FunctionRef<void()>;

  static constexpr int kLingerMicroseconds = 100;

  explicit Team(int slots);

  /// Calls body(order[i], slot) for every i in [0, chunks), or body(i, slot) where `order` is
  /// null, on the caller and on helpers, `helpers` of which are wished for. One call at a time.
  /// Rethrows the exception of the lowest chunk; chunks not begun by then are dropped.
  void run(std::int64_t chunks, const std::int64_t* order, Body body, int helpers, Ask ask);

  /// What a helper does, from coming to leaving. Does not throw.
  void help();

  /// Helpers that are here or on their way.
  int helpers() const { return helpers_.load(std::memory_order_relaxed); }

  /// Helpers leave as soon as they see it. No run() may follow.
  void dismiss();

  /// Chunks that each slot has run so far.
  std::int64_t chunks_of(int slot) const;
  void clear_counts();
  void count(int slot, std::int64_t chunks);

 private:
  // Written only by the thread that has the slot; padded, so that slots do not share a cache line.
  struct alignas(64) Slot {
    std::atomic<bool> taken{false};
    std::atomic<std::int64_t> chunks{0};
  };

  void run_phase(std::int64_t first, std::uint32_t chunks, int helpers, Ask ask);
  std::uint32_t claim();
  void withdraw();
  void work(std::uint32_t remaining, int slot);
  void await_claimed();
  bool linger(std::uint32_t& remaining);
  int take_slot();
  bool stay();

  // How many chunks of the current phase are not claimed yet, in the low half; the number of the
  // phase in the high half, so that a claim by a thread that slept through the end of a phase
  // fails. What follows describes the phase: it may be read by who has claimed one of its chunks,
  // until he reports that it is done.
  alignas(64) std::atomic<std::uint64_t> ticket_{0};
  std::uint32_t chunks_ = 0;
  std::int64_t first_ = 0;
  const std::int64_t* order_ = nullptr;
  const Body* body_ = nullptr;

  alignas(64) std::atomic<std::uint32_t> pending_{0};  // chunks not done and not withdrawn
  alignas(64) std::atomic<int> helpers_{0};
  std::atomic<bool> dismissed_{false};

  std::mutex error_mutex_;
  std::exception_ptr error_;
  std::int64_t error_chunk_ = 0;

  std::vector<Slot> slots_;
};

}  // namespace weft
