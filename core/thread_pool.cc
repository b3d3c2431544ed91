#include "weft/core/thread_pool.h"

#if defined(__x86_64__) || defined(__i386__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "weft/core/floating_point.h"

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

// The maximum number of chunks in a phase; larger runs consist of several phases.
constexpr std::int64_t kMaxChunks = 0xffff;

// The unclaimed chunks [next, end) of a phase, packed into one 64-bit word, so that a claim is a
// single compare-and-swap. The phase number makes the claim fail for a thread that was suspended
// until after the end of that phase (the ABA problem).
struct UnclaimedChunks {
  std::uint32_t phase = 0;
  int next = 0, end = 0;

  static UnclaimedChunks unpack(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> 32), static_cast<int>(word >> 16 & 0xffff),
            static_cast<int>(word & 0xffff)};
  }
  std::uint64_t pack() const {
    return std::uint64_t{phase} << 32 | static_cast<std::uint64_t>(next) << 16 |
           static_cast<std::uint64_t>(end);
  }
};

// A thread that has spun for this long yields the CPU between checks, because the thread for which
// it is waiting may need the CPU.
constexpr auto kYieldAfter = std::chrono::microseconds(20);
// The caller blocks after waiting this long for claimed chunks.
constexpr auto kBlockAfter = std::chrono::microseconds(1000);

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits between two checks of a condition, first with pause instructions and later by yielding.
// Reads the clock rarely, because reading it costs more than a check.
class Backoff {
 public:
  /// Waits and returns the time since the first call.
  Clock::duration wait() {
    if (waited_ > kYieldAfter) {
      std::this_thread::yield();
    } else {
      pause();
      if (++pauses_ % 16 != 0) return waited_;
    }
    const auto now = Clock::now();
    if (begin_ == Clock::time_point{}) begin_ = now;
    return waited_ = now - begin_;
  }

 private:
  Clock::time_point begin_;
  Clock::duration waited_{0};
  unsigned pauses_ = 0;
};

}  // namespace

ThreadPool::ThreadPool(int slots) : slots_(static_cast<std::size_t>(slots)) {}

void ThreadPool::count(int slot, std::int64_t chunks) {
  slots_[static_cast<std::size_t>(slot)].chunks.fetch_add(chunks, std::memory_order_relaxed);
}
std::int64_t ThreadPool::chunks_of(int slot) const {
  return slots_[static_cast<std::size_t>(slot)].chunks.load(std::memory_order_relaxed);
}
void ThreadPool::clear_counts() {
  for (Slot& s : slots_) s.chunks.store(0, std::memory_order_relaxed);
}

void ThreadPool::shutdown() { shutdown_.store(true, std::memory_order_relaxed); }

void ThreadPool::run(std::int64_t chunks, const std::int64_t* order, Body body, int workers,
                     Submit submit) {
  order_ = order;
  body_ = &body;
  for (std::int64_t first = 0; first < chunks && !error_; first += kMaxChunks) {
    const std::int64_t count = std::min(chunks - first, kMaxChunks);
    run_phase(first, static_cast<int>(count), workers, submit);
  }
  body_ = nullptr;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void ThreadPool::run_phase(std::int64_t first, int chunks, int workers, Submit submit) {
  first_ = first;
  pending_.store(static_cast<std::uint32_t>(chunks), std::memory_order_relaxed);
  const std::uint32_t phase = phase_.load(std::memory_order_relaxed) + 1;
  const int shares = std::min(workers + 1, chunks);
  for (int slot = 0; slot < static_cast<int>(slots_.size()); ++slot) {
    const UnclaimedChunks range{phase, chunks * std::min(slot, shares) / shares,
                                chunks * std::min(slot + 1, shares) / shares};
    slots_[static_cast<std::size_t>(slot)].unclaimed.store(range.pack(), std::memory_order_release);
  }
  // Sequentially consistent, as in rejoin(): either a leaving worker reads the new phase number, or
  // this thread reads a value of workers_ that no longer includes that worker.
  phase_.store(phase, std::memory_order_seq_cst);
  const int here = workers_.load(std::memory_order_seq_cst);
  for (int i = here; i < workers; ++i) {
    workers_.fetch_add(1, std::memory_order_relaxed);
    try {
      submit();
    } catch (...) {
      workers_.fetch_sub(1, std::memory_order_relaxed);
      break;  // the existing threads run all chunks
    }
  }
  if (const int position = claim(0, kNone); position != kNone) run_chunks(position, 0);
  wait_for_claimed();
}

// Claims a chunk for this slot and returns its position, or kNone. `last` is the previous chunk
// that the slot has run.
int ThreadPool::claim(int slot, int last) {
  const std::uint32_t phase = phase_.load(std::memory_order_acquire);
  const int position = claim_own(slot, phase);
  return position != kNone ? position : steal(slot, phase, last);
}

int ThreadPool::claim_own(int slot, std::uint32_t phase) {
  std::atomic<std::uint64_t>& own = slots_[static_cast<std::size_t>(slot)].unclaimed;
  std::uint64_t word = own.load(std::memory_order_relaxed);
  for (;;) {
    UnclaimedChunks range = UnclaimedChunks::unpack(word);
    if (range.phase != phase || range.next >= range.end) return kNone;
    const int position = range.next++;
    if (own.compare_exchange_weak(word, range.pack(), std::memory_order_acq_rel,
                                  std::memory_order_relaxed)) {
      return position;
    }
  }
}

// Steals half of another slot's range: claims the first chunk of that half and makes the others
// this slot's range. Takes the second half, unless the first half directly follows the last chunk
// of this slot, which happens if the other slot's worker has not started yet.
int ThreadPool::steal(int slot, std::uint32_t phase, int last) {
  const int slots = static_cast<int>(slots_.size());
  for (int i = 1; i < slots; ++i) {
    std::atomic<std::uint64_t>& other =
        slots_[static_cast<std::size_t>((slot + i) % slots)].unclaimed;
    std::uint64_t word = other.load(std::memory_order_relaxed);
    for (;;) {
      UnclaimedChunks left = UnclaimedChunks::unpack(word);
      if (left.phase != phase || left.next >= left.end) break;
      const int half = (left.end - left.next + 1) / 2;
      const int begin = left.next == last + 1 ? left.next : left.end - half;
      if (begin == left.next) {
        left.next += half;
      } else {
        left.end -= half;
      }
      if (!other.compare_exchange_weak(word, left.pack(), std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
        continue;
      }
      // A plain store is safe: no other thread writes to an empty range before the next phase, and
      // the next phase waits for these chunks.
      slots_[static_cast<std::size_t>(slot)].unclaimed.store(
          UnclaimedChunks{phase, begin + 1, begin + half}.pack(), std::memory_order_release);
      return begin;
    }
  }
  return kNone;
}

// Cancels the unclaimed chunks after a chunk that failed. The failed chunk is still pending, so the
// phase cannot end in the meantime.
void ThreadPool::cancel_after(int position) {
  for (Slot& slot : slots_) {
    std::uint64_t word = slot.unclaimed.load(std::memory_order_relaxed);
    for (;;) {
      UnclaimedChunks range = UnclaimedChunks::unpack(word);
      const int keep = std::max(range.next, std::min(range.end, position + 1));
      const int cancelled = range.end - keep;
      if (cancelled <= 0) break;
      range.end = keep;
      if (!slot.unclaimed.compare_exchange_weak(word, range.pack(), std::memory_order_acq_rel,
                                                std::memory_order_relaxed)) {
        continue;
      }
      pending_.fetch_sub(static_cast<std::uint32_t>(cancelled), std::memory_order_acq_rel);
      break;
    }
  }
}

// Runs the claimed chunk, and then every further chunk that this slot can claim.
void ThreadPool::run_chunks(int position, int slot) {
  DefaultFloatingPoint environment;
  std::uint32_t ran = 0;
  do {
    const std::int64_t i = first_ + position;
    ++ran;
    try {
      (*body_)(order_ != nullptr ? order_[i] : i, slot);
    } catch (...) {
      {
        const std::lock_guard lock(error_mutex_);
        if (!error_ || position < error_position_) {
          error_ = std::current_exception();
          error_position_ = position;
        }
      }
      cancel_after(position);
    }
    position = claim(slot, position);
  } while (position != kNone);
  count(slot, ran);
  // From here on, the caller may return from the phase.
  if (pending_.fetch_sub(ran, std::memory_order_acq_rel) == ran && slot != 0) {
    pending_.notify_one();
  }
}

void ThreadPool::wait_for_claimed() {
  Backoff backoff;
  for (;;) {
    const std::uint32_t pending = pending_.load(std::memory_order_acquire);
    if (pending == 0) return;
    if (backoff.wait() > kBlockAfter) pending_.wait(pending, std::memory_order_acquire);
  }
}

int ThreadPool::take_slot() {
  // There are never more workers than worker slots, but a slot may become free after the inner loop
  // has passed it.
  for (;;) {
    for (std::size_t slot = 1; slot < slots_.size(); ++slot) {
      if (!slots_[slot].taken.exchange(true, std::memory_order_acquire)) {
        return static_cast<int>(slot);
      }
    }
    std::this_thread::yield();
  }
}

// Spins until a chunk can be claimed; returns kNone after kSpinMicroseconds or on shutdown.
int ThreadPool::spin(int slot) {
  constexpr auto kSpin = std::chrono::microseconds(kSpinMicroseconds);
  Backoff backoff;
  for (;;) {
    if (const int position = claim(slot, kNone); position != kNone) return position;
    if (shutdown_.load(std::memory_order_relaxed) || backoff.wait() > kSpin) return kNone;
  }
}

bool ThreadPool::has_unclaimed() const {
  const std::uint32_t phase = phase_.load(std::memory_order_seq_cst);
  return std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
    const UnclaimedChunks range =
        UnclaimedChunks::unpack(slot.unclaimed.load(std::memory_order_relaxed));
    return range.phase == phase && range.next < range.end;
  });
}

// Deregisters the calling worker. If work has arrived in the meantime, registers the worker again
// and returns true.
bool ThreadPool::rejoin() {
  workers_.fetch_sub(1, std::memory_order_seq_cst);
  if (!has_unclaimed()) return false;
  int here = workers_.load(std::memory_order_relaxed);
  while (here + 1 < static_cast<int>(slots_.size())) {
    if (workers_.compare_exchange_weak(here, here + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

void ThreadPool::worker_loop() {
  do {
    const int slot = take_slot();
    for (int position = spin(slot); position != kNone; position = spin(slot)) {
      run_chunks(position, slot);
    }
    slots_[static_cast<std::size_t>(slot)].taken.store(false, std::memory_order_release);
  } while (rejoin());
}

}  // namespace weft
