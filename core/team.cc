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

// Phases of more chunks are run as several.
constexpr std::int64_t kMostChunks = 0xffff;

// A range of chunks and the phase that it belongs to, in one word: whoever takes from it changes
// all of it at once, and fails if he has slept through the end of the phase.
struct Ticket {
  std::uint32_t phase = 0;
  int next = 0, end = 0;

  static Ticket of(std::uint64_t word) {
    return {static_cast<std::uint32_t>(word >> 32), static_cast<int>(word >> 16 & 0xffff),
            static_cast<int>(word & 0xffff)};
  }
  std::uint64_t word() const {
    return std::uint64_t{phase} << 32 | static_cast<std::uint64_t>(next) << 16 |
           static_cast<std::uint64_t>(end);
  }
};

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
    run_phase(first, static_cast<int>(count), helpers, ask);
  }
  body_ = nullptr;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Team::run_phase(std::int64_t first, int chunks, int helpers, Ask ask) {
  first_ = first;
  pending_.store(static_cast<std::uint32_t>(chunks), std::memory_order_relaxed);
  const std::uint32_t phase = phase_.load(std::memory_order_relaxed) + 1;
  const int shares = std::min(helpers + 1, chunks);
  for (int slot = 0; slot < static_cast<int>(slots_.size()); ++slot) {
    const Ticket ticket{phase, chunks * std::min(slot, shares) / shares,
                        chunks * std::min(slot + 1, shares) / shares};
    slots_[static_cast<std::size_t>(slot)].ticket.store(ticket.word(), std::memory_order_release);
  }
  // In one order with the count of helpers: either a helper that leaves sees this phase, or he is
  // seen to be gone.
  phase_.store(phase, std::memory_order_seq_cst);
  const int here = helpers_.load(std::memory_order_seq_cst);
  for (int i = here; i < helpers; ++i) {
    helpers_.fetch_add(1, std::memory_order_relaxed);
    try {
      ask();
    } catch (...) {
      helpers_.fetch_sub(1, std::memory_order_relaxed);
      break;  // then without, for good: the work gets done all the same
    }
  }
  if (const int position = claim(0, kNone); position != kNone) work(position, 0);
  await_claimed();
}

// The position of a chunk that is now this slot's to run, or kNone. `last` is the one it ran
// before.
int Team::claim(int slot, int last) {
  const std::uint32_t phase = phase_.load(std::memory_order_acquire);
  const int position = claim_own(slot, phase);
  return position != kNone ? position : steal(slot, phase, last);
}

int Team::claim_own(int slot, std::uint32_t phase) {
  std::atomic<std::uint64_t>& own = slots_[static_cast<std::size_t>(slot)].ticket;
  std::uint64_t word = own.load(std::memory_order_relaxed);
  for (;;) {
    Ticket ticket = Ticket::of(word);
    if (ticket.phase != phase || ticket.next >= ticket.end) return kNone;
    const int position = ticket.next++;
    if (own.compare_exchange_weak(word, ticket.word(), std::memory_order_acq_rel,
                                  std::memory_order_relaxed)) {
      return position;
    }
  }
}

// Takes half of what another slot has left: the first chunk of that half is claimed, the others
// become this slot's. It is the second half, unless the first one goes on where this slot has
// stopped, as it does where the other's helper has not come.
int Team::steal(int slot, std::uint32_t phase, int last) {
  const int slots = static_cast<int>(slots_.size());
  for (int i = 1; i < slots; ++i) {
    std::atomic<std::uint64_t>& other = slots_[static_cast<std::size_t>((slot + i) % slots)].ticket;
    std::uint64_t word = other.load(std::memory_order_relaxed);
    for (;;) {
      Ticket left = Ticket::of(word);
      if (left.phase != phase || left.next >= left.end) break;
      const int half = (left.end - left.next + 1) / 2;
      const int begin = left.next == last + 1 ? left.next : left.end - half;
      if (begin == left.next) {
        left.next += half;
      } else {
        left.end -= half;
      }
      if (!other.compare_exchange_weak(word, left.word(), std::memory_order_acq_rel,
                                       std::memory_order_relaxed)) {
        continue;
      }
      // Nobody else writes an empty ticket before the next phase, which waits for these chunks.
      slots_[static_cast<std::size_t>(slot)].ticket.store(
          Ticket{phase, begin + 1, begin + half}.word(), std::memory_order_release);
      return begin;
    }
  }
  return kNone;
}

// Drops the chunks after one that failed and that its thread has not reported yet.
void Team::drop_after(int position) {
  for (Slot& slot : slots_) {
    std::uint64_t word = slot.ticket.load(std::memory_order_relaxed);
    for (;;) {
      Ticket ticket = Ticket::of(word);
      const int keep = std::max(ticket.next, std::min(ticket.end, position + 1));
      const int dropped = ticket.end - keep;
      if (dropped <= 0) break;
      ticket.end = keep;
      if (!slot.ticket.compare_exchange_weak(word, ticket.word(), std::memory_order_acq_rel,
                                             std::memory_order_relaxed)) {
        continue;
      }
      pending_.fetch_sub(static_cast<std::uint32_t>(dropped), std::memory_order_acq_rel);
      break;
    }
  }
}

// Runs the chunk that was claimed, and all that can be claimed after it.
void Team::work(int position, int slot) {
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
      drop_after(position);
    }
    position = claim(slot, position);
  } while (position != kNone);
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
int Team::linger(int slot) {
  constexpr auto kLinger = std::chrono::microseconds(kLingerMicroseconds);
  Patience patience;
  for (;;) {
    if (const int position = claim(slot, kNone); position != kNone) return position;
    if (dismissed_.load(std::memory_order_relaxed) || patience.wait() > kLinger) return kNone;
  }
}

bool Team::something_to_claim() const {
  const std::uint32_t phase = phase_.load(std::memory_order_seq_cst);
  return std::any_of(slots_.begin(), slots_.end(), [&](const Slot& slot) {
    const Ticket ticket = Ticket::of(slot.ticket.load(std::memory_order_relaxed));
    return ticket.phase == phase && ticket.next < ticket.end;
  });
}

// A helper that has left comes back where work has arrived meanwhile.
bool Team::stay() {
  helpers_.fetch_sub(1, std::memory_order_seq_cst);
  if (!something_to_claim()) return false;
  int here = helpers_.load(std::memory_order_relaxed);
  while (here + 1 < static_cast<int>(slots_.size())) {
    if (helpers_.compare_exchange_weak(here, here + 1, std::memory_order_relaxed)) return true;
  }
  return false;
}

void Team::help() {
  do {
    const int slot = take_slot();
    for (int position = linger(slot); position != kNone; position = linger(slot)) {
      work(position, slot);
    }
    slots_[static_cast<std::size_t>(slot)].taken.store(false, std::memory_order_release);
  } while (stay());
}

}  // namespace weft
