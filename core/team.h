// Sharing chunks among threads that linger: what Workers do, whatever their threads come from.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include "weft/core/parallel.h"

namespace weft {

/// The caller of run() and the helpers that come to its aid. A helper that finds no more work
/// lingers: it looks for the next phase for kLingerMicroseconds, so that a run of many short phases
/// starts each of them in less than a microsecond, and then leaves (waking a sleeping thread takes
/// 20 to 50 us). Threads that are merely late are never waited for: chunks are claimed one by one,
/// the caller takes what nobody else does, and only claimed chunks are waited for. A thread that
/// the operating system has taken off its CPU therefore delays nobody, unless it is inside a chunk.
///
/// Every thread begins with a range of neighbouring chunks of its own, and who has none left takes
/// half of somebody else's: what neighbours read is mostly one run of memory, and two
/// threads that take turns at pieces of 64 KiB read at 0.6 of the speed of two that stream.
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
  /// Rethrows the exception of the first chunk that throws, in the order given, whatever ran beside
  /// it: chunks after one that failed are dropped unless they have begun, those before it still
  /// run.
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
  // Padded, so that slots do not share a cache line.
  struct alignas(64) Slot {
    // Chunks [next, end) of a phase that nobody has claimed yet; see Ticket in team.cc.
    std::atomic<std::uint64_t> ticket{0};
    std::atomic<bool> taken{false};
    std::atomic<std::int64_t> chunks{0};
  };

  static constexpr int kNone = -2;  // never just before a chunk

  void run_phase(std::int64_t first, int chunks, int helpers, Ask ask);
  int claim(int slot, int last);
  int claim_own(int slot, std::uint32_t phase);
  int steal(int slot, std::uint32_t phase, int last);
  void drop_after(int position);
  void work(int position, int slot);
  void await_claimed();
  int linger(int slot);
  int take_slot();
  bool stay();
  bool something_to_claim() const;

  // The number of the current phase: tickets with another one are not for claiming. Counted up when
  // all tickets are written. What follows describes the phase: it may be read by who has claimed
  // one of its chunks, until he reports that it is done.
  alignas(64) std::atomic<std::uint32_t> phase_{0};
  std::int64_t first_ = 0;
  const std::int64_t* order_ = nullptr;
  const Body* body_ = nullptr;

  alignas(64) std::atomic<std::uint32_t> pending_{0};  // chunks not done and not dropped
  alignas(64) std::atomic<int> helpers_{0};
  std::atomic<bool> dismissed_{false};

  std::mutex error_mutex_;
  std::exception_ptr error_;
  int error_position_ = 0;

  std::vector<Slot> slots_;
};

}  // namespace weft
