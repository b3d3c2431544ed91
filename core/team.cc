#include "weft/core/team.h"

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

constexpr std::uint32_t kRemaining = 0xffff'ffffu;
// Phases of more chunks are run as several.
constexpr std::int64_t kMostChunks = std::int64_t{1} << 31;

// Who waits longer than this lets other threads have the CPU between two looks: one of them may
// be what he waits for.
constexpr auto kPolite = std::chrono::microseconds(20);
// Who waits longer than this for claimed chunks sleeps.
constexpr auto kSleepless = std::chrono::microseconds(1000);

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits in small pieces, more politely with time. The clock is read rarely: it costs more than a
// look.
class Patience {
 public:
  /// Time since the first call.
  Clock::duration wait() {
    if (waited_ > kPolite) {
      std::this_thread::yield();
    } else {
      pause();
      if (++looks_ % 16 != 0) return waited_;
    }
    const auto now = Clock::now();
    if (begin_ == Clock::time_point{}) begin_ = now;
    return waited_ = now - begin_;
  }

 private:
  Clock::time_point begin_;
  Clock::duration waited_{0};
  unsigned looks_ = 0;
};

}  // namespace

Team::Team(int slots) : slots_(static_cast<std::size_t>(slots)) {}

void Team::count(int slot, std::int64_t chunks) {
  slots_[static_cast<std::size_t>(slot)].chunks.fetch_add(chunks, std::memory_order_relaxed);
}
std::int64_t Team::chunks_of(int slot) const {
  return slots_[static_cast<std::size_t>(slot)].chunks.load(std::memory_order_relaxed);
}
void Team::clear_counts() {
  for (Slot& s : slots_) s.chunks.store(0, std::memory_order_relaxed);
}

void Team::dismiss() { dismissed_.store(true, std::memory_order_relaxed); }

void Team::run(std::int64_t chunks, const std::int64_t* order, Body body, int helpers, Ask ask) {
  order_ = order;
  body_ = &body;
  for (std::int64_t first = 0; first < chunks && !error_; first += kMostChunks) {
    const std::int64_t count = std::min(chunks - first, kMostChunks);
    run_phase(first, static_cast<std::uint32_t>(count), helpers, ask);
  }
  body_ = nullptr;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Team::run_phase(std::int64_t first, std::uint32_t chunks, int helpers, Ask ask) {
  first_ = first;
  chunks_ = chunks;
  pending_.store(chunks, std::memory_order_relaxed);
  const std::uint64_t phase = (ticket_.load(std::memory_order_relaxed) >> 32) + 1;
  // In one order with the count of helpers: either a helper that leaves sees this phase, or he is
  // seen to be gone.
  ticket_.store(phase << 32 | chunks, std::memory_order_seq_cst);
  const int here = helpers_.load(std::memory_order_seq_cst);
  for (int i = here; i < helpers; ++i) {
    helpers_.fetch_add(1, std::memory_order_relaxed);
    try {
      ask();
    } catch (...) {
      helpers_.fetch_sub(1, std::memory_order_relaxed);
      break;  // then without: the work gets done all the same
    }
  }
  if (const std::uint32_t remaining = claim(); remaining > 0) work(remaining, 0);
  await_claimed();
}

// The number of chunks that were left before one was claimed, or 0 where there was none.
std::uint32_t Team::claim() {
  std::uint64_t ticket = ticket_.load(std::memory_order_relaxed);
  while ((ticket & kRemaining) != 0) {
    if (ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel,
                                      std::memory_order_relaxed)) {
      return static_cast<std::uint32_t>(ticket & kRemaining);
    }
  }
  return 0;
}

// Drops the chunks that nobody has claimed. Only by who has claimed one himself.
void Team::withdraw() {
  std::uint64_t ticket = ticket_.load(std::memory_order_relaxed);
  while (!ticket_.compare_exchange_weak(ticket, ticket & ~std::uint64_t{kRemaining},
                                        std::memory_order_acq_rel, std::memory_order_relaxed)) {
  }
  // Not the last ones: his own chunk is still to be reported.
  pending_.fetch_sub(static_cast<std::uint32_t>(ticket & kRemaining), std::memory_order_acq_rel);
}

// Runs the chunk that was claimed, and all that can be claimed after it.
void Team::work(std::uint32_t remaining, int slot) {
  DefaultFloatingPoint environment;
  std::uint32_t ran = 0;
  do {
    const std::int64_t i = first_ + (chunks_ - remaining);
    const std::int64_t chunk = order_ != nullptr ? order_[i] : i;
    ++ran;
    try {
      (*body_)(chunk, slot);
    } catch (...) {
      // The lowest chunk wins: chunks are handed out in order and those begun are finished, so
      // the error that the caller sees does not depend on timing.
      {
        const std::lock_guard lock(error_mutex_);
        if (!error_ || chunk < error_chunk_) {
          error_ = std::current_exception();
          error_chunk_ = chunk;
        }
      }
      withdraw();
    }
    remaining = claim();
  } while (remaining > 0);
  count(slot, ran);
  // From here on the phase may be over for the caller.
  if (pending_.fetch_sub(ran, std::memory_order_acq_rel) == ran && slot != 0) {
    pending_.notify_one();
  }
}

void Team::await_claimed() {
  Patience patience;
  for (;;) {
    const std::uint32_t pending = pending_.load(std::memory_order_acquire);
    if (pending == 0) return;
    if (patience.wait() > kSleepless) pending_.wait(pending, std::memory_order_acquire);
  }
}

int Team::take_slot() {
  // There are never more helpers than slots for them, but one may be given back behind us.
  for (;;) {
    for (std::size_t slot = 1; slot < slots_.size(); ++slot) {
      if (!slots_[slot].taken.exchange(true, std::memory_order_acquire)) {
        return static_cast<int>(slot);
      }
    }
    std::this_thread::yield();
  }
}

// Looks for work until it is time to leave.
bool Team::linger(std::uint32_t& remaining) {
  constexpr auto kLinger = std::chrono::microseconds(kLingerMicroseconds);
  Patience patience;
  for (;;) {
    remaining = claim();
    if (remaining > 0) return true;
    if (dismissed_.load(std::memory_order_relaxed) || patience.wait() > kLinger) return false;
  }
}

// A helper that has left comes back where work has arrived meanwhile.
bool Team::stay() {
  helpers_.fetch_sub(1, std::memory_order_seq_cst);
  if ((ticket_.load(std::memory_order_seq_cst) & kRemaining) == 0) return false;
  int here = helpers_.load(std::memory_order_relaxed);
  while (here + 1 < static_cast<int>(slots_.size())) {
    if (helpers_.compare_exchange_weak(here, here + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

void Team::help() {
  do {
    const int slot = take_slot();
    std::uint32_t remaining = 0;
    while (linger(remaining)) work(remaining, slot);
    slots_[static_cast<std::size_t>(slot)].taken.store(false, std::memory_order_release);
  } while (stay());
}

}  // namespace weft
