#include "weft/core/parallel.h"

#include <fmt/format.h>
#include <sched.h>

#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#ifdef WEFT_STD_THREADS
#include <condition_variable>
#else
#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>
#include <tbb/task_group.h>
#endif

#include "weft/core/error.h"
#include "weft/core/random.h"

namespace weft {
namespace {

constexpr int kMaxSlots = 4096;

// The default floating-point environment for as long as it lives.
class DefaultFloatingPoint {
 public:
#if defined(__x86_64__) || defined(__i386__)
  DefaultFloatingPoint() : saved_(_mm_getcsr()) { _mm_setcsr(0x1f80); }
  ~DefaultFloatingPoint() { _mm_setcsr(saved_); }

 private:
  unsigned saved_;
#else
  DefaultFloatingPoint() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatingPoint() { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
#endif
 public:
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;
};

using Participate = FunctionRef<void(int slot)>;

#ifdef WEFT_STD_THREADS

// Threads of our own, for ThreadSanitizer: slot 0 is the caller, thread i has slot i.
class Pool {
 public:
  explicit Pool(int slots) {
    try {
      for (int slot = 1; slot < slots; ++slot) threads_.emplace_back([this, slot] { loop(slot); });
    } catch (...) {
      stop();
      throw;
    }
  }
  ~Pool() { stop(); }

  /// Calls participate(slot) on the caller and on `participants` - 1 threads. It must not throw.
  void run(int participants, Participate participate) {
    {
      std::lock_guard lock(mutex_);
      job_ = &participate;
      participants_ = participants;
      pending_ = participants - 1;
      ++generation_;
    }
    wake_.notify_all();
    participate(0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return pending_ == 0; });
    job_ = nullptr;
  }

 private:
  void loop(int slot) {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stopping_ || generation_ != seen; });
      if (stopping_) return;
      seen = generation_;
      // A job that this thread has no part in may be over, and the next one begun, before it wakes.
      if (slot >= participants_ || job_ == nullptr) continue;
      const Participate job = *job_;
      lock.unlock();
      job(slot);
      lock.lock();
      if (--pending_ == 0) done_.notify_one();
    }
  }
  void stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : threads_) t.join();
    threads_.clear();
  }

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const Participate* job_ = nullptr;
  int participants_ = 0;
  int pending_ = 0;
  std::uint64_t generation_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

#else

class Pool {
 public:
  // One slot is reserved for the calling thread, so that it always takes part.
  explicit Pool(int slots) : arena_(slots, 1) {}

  /// Calls participate(slot) `participants` times, on as many threads as the arena gets; a thread
  /// may take several turns, one after the other. It must not throw.
  void run(int participants, Participate participate) {
    arena_.execute([&] {
      // Isolated: a cancelled task group around the caller must not drop our work silently.
      tbb::task_group_context context(tbb::task_group_context::isolated);
      tbb::parallel_for(
          tbb::blocked_range<int>(0, participants, 1),
          [&](const tbb::blocked_range<int>&) {
            participate(tbb::this_task_arena::current_thread_index());
          },
          tbb::simple_partitioner(), context);
    });
  }

 private:
  tbb::task_arena arena_;
};

#endif

// Written only by the thread that has the slot; padded, so that slots do not share a cache line.
struct alignas(64) SlotCount {
  std::atomic<std::int64_t> chunks{0};
};

}  // namespace

struct Workers::Impl {
  using Body = FunctionRef<void(std::int64_t, int)>;

  Impl(int slots, std::uint64_t shuffle)
      : slots(slots), shuffle_seed(shuffle), counts(static_cast<std::size_t>(slots)), pool(slots) {}

  const int slots;
  const std::uint64_t shuffle_seed;
  std::vector<SlotCount> counts;
  std::atomic<bool> busy{false};
  std::uint64_t calls = 0;          // guarded by `busy`; makes each shuffle different
  std::vector<std::int64_t> order;  // guarded by `busy`
  Pool pool;

  void count(int slot, std::int64_t chunks) {
    counts[static_cast<std::size_t>(slot)].chunks.fetch_add(chunks, std::memory_order_relaxed);
  }
  void shuffle(std::int64_t chunks);
  void delay(std::int64_t chunk) const;
  void serial(std::int64_t chunks, Body body, bool counted);
  void parallel(std::int64_t chunks, Body body);
};

namespace {

class Exclusive {
 public:
  explicit Exclusive(std::atomic<bool>& busy) : busy_(busy) {
    if (busy_.exchange(true, std::memory_order_acquire)) {
      throw StateError(
          "these Workers are busy: for_chunks was called from a second thread, or inside a body "
          "that they run; give each thread its own Workers");
    }
  }
  ~Exclusive() { busy_.store(false, std::memory_order_release); }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;

 private:
  std::atomic<bool>& busy_;
};

}  // namespace

// Fisher and Yates, from the last element down.
void Workers::Impl::shuffle(std::int64_t chunks) {
  order.resize(static_cast<std::size_t>(chunks));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  const RandomStream random{shuffle_seed, 1, static_cast<std::uint32_t>(++calls)};
  for (std::size_t i = order.size(); i > 1; --i) {
    const PhiloxBlock block = random.block(i);
    const std::uint64_t bits = std::uint64_t{block[0]} << 32 | block[1];
    std::swap(order[i - 1], order[uniform_below(bits, i)]);
  }
}

// Most chunks start at once, some after up to 63 yields: enough to let any other thread pass.
void Workers::Impl::delay(std::int64_t chunk) const {
  const RandomStream random{shuffle_seed, 2, static_cast<std::uint32_t>(calls)};
  const std::uint32_t word = random.word(static_cast<std::uint64_t>(chunk));
  if (word % 4 != 0) return;
  for (std::uint32_t n = word >> 2 & 63u; n > 0; --n) std::this_thread::yield();
}

void Workers::Impl::serial(std::int64_t chunks, Body body, bool counted) {
  DefaultFloatingPoint environment;
  for (std::int64_t i = 0; i < chunks; ++i) {
    if (counted) count(0, 1);
    body(i, 0);
  }
}

void Workers::Impl::parallel(std::int64_t chunks, Body body) {
  const bool shuffled = shuffle_seed != 0;
  if (shuffled) shuffle(chunks);

  // One task per slot that takes chunks from a counter, not one task per chunk: a chunk then costs
  // one atomic addition, and the environment is set once per thread.
  alignas(64) std::atomic<std::int64_t> next{0};
  alignas(64) std::atomic<bool> failed{false};
  std::mutex mutex;
  std::exception_ptr error;
  std::int64_t error_chunk = chunks;

  auto participate = [&](int slot) {
    DefaultFloatingPoint environment;
    std::int64_t ran = 0;
    while (!failed.load(std::memory_order_relaxed)) {
      const std::int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= chunks) break;
      const std::int64_t chunk = shuffled ? order[static_cast<std::size_t>(i)] : i;
      ++ran;
      try {
        if (shuffled) delay(chunk);
        body(chunk, slot);
      } catch (...) {
        // The lowest chunk wins: chunks are handed out in order and those begun are finished, so
        // the error that the caller sees does not depend on timing.
        std::lock_guard lock(mutex);
        if (chunk < error_chunk) {
          error = std::current_exception();
          error_chunk = chunk;
        }
        failed.store(true, std::memory_order_relaxed);
      }
    }
    if (ran > 0) count(slot, ran);
  };
  pool.run(static_cast<int>(std::min<std::int64_t>(slots, chunks)), participate);
  if (error) std::rethrow_exception(error);
}

Workers::Workers(WorkersOptions options) {
  if (options.threads < 0 || options.threads > kMaxSlots) {
    throw ArgumentError(
        fmt::format("threads is {}; it must be in 1..{}, or 0 for one per hardware thread",
                    options.threads, kMaxSlots));
  }
  const int slots = options.threads > 0 ? options.threads : hardware_threads();
  impl_ = std::make_unique<Impl>(slots, options.shuffle_seed);
}

Workers::~Workers() = default;

int Workers::slots() const { return impl_->slots; }

void Workers::for_chunks(std::int64_t chunks,
                         FunctionRef<void(std::int64_t chunk, int slot)> body) {
  if (chunks <= 0) return;
  Exclusive exclusive(impl_->busy);
  if (chunks == 1 || (impl_->slots == 1 && impl_->shuffle_seed == 0)) {
    impl_->serial(chunks, body, true);
  } else {
    impl_->parallel(chunks, body);
  }
}

void Workers::for_chunks_serial(std::int64_t chunks,
                                FunctionRef<void(std::int64_t chunk, int slot)> body) {
  if (chunks <= 0) return;
  Exclusive exclusive(impl_->busy);
  impl_->serial(chunks, body, false);
}

Workers::Statistics Workers::statistics() const {
  Statistics s;
  for (const SlotCount& c : impl_->counts) {
    const std::int64_t n = c.chunks.load(std::memory_order_relaxed);
    s.parallel_chunks += n;
    s.distinct_slots += n > 0 ? 1 : 0;
  }
  return s;
}

void Workers::reset_statistics() {
  for (SlotCount& c : impl_->counts) c.chunks.store(0, std::memory_order_relaxed);
}

int hardware_threads() {
  // The set must be as large as the kernel's; a machine may have more CPUs than a plain cpu_set_t.
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(cpus));
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    const int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return std::min(count, kMaxSlots);
  }
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxSlots);
}

}  // namespace weft
