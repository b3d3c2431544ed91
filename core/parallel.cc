#include "weft/core/parallel.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#ifdef WEFT_STD_THREADS
#include <condition_variable>
#else
#include <tbb/global_control.h>
#include <tbb/task_arena.h>
#endif

#include "weft/core/error.h"
#include "weft/core/floating_point.h"
#include "weft/core/random.h"
#include "weft/core/thread_pool.h"

namespace weft {
namespace {

constexpr int kMaxSlots = 4096;
// For shorter work, distributing it costs more than it gains: a spinning worker takes 0.3 to 1 us
// to start, and a sleeping worker must first wake up.
constexpr double kWorthSharingNs = 5e3, kWorthWakingNs = 20e3;
// Maximum delay of a chunk in shuffle mode.
constexpr auto kLongestDelay = std::chrono::microseconds(100);

}  // namespace

// Not in the unnamed namespace: Workers::Impl, which has external linkage, has a member of type
// Threads.
namespace parallel_detail {

#ifdef WEFT_STD_THREADS

// Provides the worker threads. This version, for ThreadSanitizer, uses std::thread instead of TBB.
class Threads {
 public:
  explicit Threads(int count) {
    try {
      for (int i = 0; i < count; ++i) threads_.emplace_back([this] { loop(); });
    } catch (...) {
      stop();
      throw;
    }
  }
  ~Threads() { stop(); }

  int count() const { return static_cast<int>(threads_.size()); }
  /// Runs the worker loop of `pool` on one of the threads.
  void submit(const std::shared_ptr<ThreadPool>& pool) {
    {
      const std::lock_guard lock(mutex_);
      submitted_.push_back(pool);
    }
    wake_.notify_one();
  }

 private:
  void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stopping_ || !submitted_.empty(); });
      if (stopping_) return;
      const std::shared_ptr<ThreadPool> pool = std::move(submitted_.back());
      submitted_.pop_back();
      lock.unlock();
      pool->worker_loop();
      lock.lock();
    }
  }
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : threads_) t.join();
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::shared_ptr<ThreadPool>> submitted_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

#else

// Provides the worker threads by means of a TBB arena. The calling thread does not join the arena,
// because it would find nothing to steal there and never waits for an arena.
class Threads {
 public:
  explicit Threads(int count) : count_(count) {}

  /// Returns the number of threads, limited to the number that TBB allows for all arenas together.
  /// Additional tasks would only wait.
  int count() const {
    if (failed_) return 0;
    const std::size_t allowed =
        tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
    return static_cast<int>(std::min(static_cast<std::size_t>(count_), allowed - 1));
  }
  /// Runs the worker loop of `pool` on a thread of the arena. Throws if memory for an arena or a
  /// thread cannot be allocated. After that, count() returns 0, because an arena that failed to
  /// initialise stays "pending", and TBB would wait for it forever.
  void submit(const std::shared_ptr<ThreadPool>& pool) {
    try {
      // If the arena were larger than TBB's limit, TBB would print a warning to stderr.
      if (!arena_.is_active()) arena_.initialize(std::max(count(), 1), 0);
      arena_.enqueue([pool] { pool->worker_loop(); });
    } catch (...) {
      failed_ = true;
      throw;
    }
  }

 private:
  const int count_;
  bool failed_ = false;
  tbb::task_arena arena_;
};

#endif

}  // namespace parallel_detail

struct Workers::Impl {
  using Body = FunctionRef<void(std::int64_t, int)>;

  Impl(int slots, std::uint64_t shuffle)
      : slots(slots),
        shuffle_seed(shuffle),
        pool(std::make_shared<ThreadPool>(slots)),
        threads(slots - 1) {}
  ~Impl() { pool->shutdown(); }

  const int slots;
  const std::uint64_t shuffle_seed;
  const std::shared_ptr<ThreadPool> pool;
  std::atomic<bool> busy{false};
  std::uint64_t calls = 0;          // guarded by `busy`; varies the shuffle from call to call
  std::vector<std::int64_t> order;  // guarded by `busy`
  parallel_detail::Threads threads;

  void shuffle(std::int64_t chunks);
  void delay(std::int64_t chunk) const;
  bool worth_sharing(double cost_ns) const;
  void serial(std::int64_t chunks, Body body);
  void parallel(std::int64_t chunks, Body body);
};

namespace {

class Exclusive {
 public:
  explicit Exclusive(std::atomic<bool>& busy) : busy_(busy) {
    if (busy_.exchange(true, std::memory_order_acquire)) {
      throw StateError(
          "these Workers are busy: for_chunks was called from a second thread or from a body "
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

// Performs a Fisher-Yates shuffle, starting with the last element.
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

// Three quarters of the chunks start immediately, the others after up to 63 yields, which is enough
// for any other thread to overtake them. If other processes compete for the CPUs, each yield may
// take milliseconds; in this case, kLongestDelay ends the delay early.
void Workers::Impl::delay(std::int64_t chunk) const {
  const RandomStream random{shuffle_seed, 2, static_cast<std::uint32_t>(calls)};
  const std::uint32_t word = random.word(static_cast<std::uint64_t>(chunk));
  if (word % 4 != 0) return;
  const auto end = std::chrono::steady_clock::now() + kLongestDelay;
  for (std::uint32_t n = word >> 2 & 63u; n > 0; --n) {
    std::this_thread::yield();
    if (std::chrono::steady_clock::now() >= end) return;
  }
}

bool Workers::Impl::worth_sharing(double cost_ns) const {
  return shuffle_seed != 0 || cost_ns >= (pool->workers() > 0 ? kWorthSharingNs : kWorthWakingNs);
}

void Workers::Impl::serial(std::int64_t chunks, Body body) {
  DefaultFloatingPoint environment;
  for (std::int64_t i = 0; i < chunks; ++i) body(i, 0);
}

void Workers::Impl::parallel(std::int64_t chunks, Body body) {
  const auto wanted = static_cast<int>(std::min<std::int64_t>(slots, chunks)) - 1;
  // count() takes a lock, so it is called only while workers are missing.
  const int workers = pool->workers() >= wanted ? wanted : std::min(wanted, threads.count());
  const auto submit = [&] { threads.submit(pool); };
  if (shuffle_seed == 0) return pool->run(chunks, nullptr, body, workers, submit);
  shuffle(chunks);
  const auto delayed = [&](std::int64_t chunk, int slot) {
    if (slots > 1) delay(chunk);  // with one thread, the delay would have no effect on the order
    body(chunk, slot);
  };
  pool->run(chunks, order.data(), delayed, workers, submit);
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

void Workers::for_chunks(std::int64_t chunks, FunctionRef<void(std::int64_t chunk, int slot)> body,
                         double cost_ns) {
  if (chunks <= 0) return;
  Exclusive exclusive(impl_->busy);
  if (!impl_->worth_sharing(cost_ns)) {
    impl_->serial(chunks, body);
  } else if (chunks == 1 || (impl_->slots == 1 && impl_->shuffle_seed == 0)) {
    impl_->pool->count(0, chunks);
    impl_->serial(chunks, body);
  } else {
    impl_->parallel(chunks, body);
  }
}

Workers::Statistics Workers::statistics() const {
  Statistics s;
  for (int slot = 0; slot < impl_->slots; ++slot) {
    const std::int64_t n = impl_->pool->chunks_of(slot);
    s.parallel_chunks += n;
    s.distinct_slots += n > 0 ? 1 : 0;
  }
  return s;
}

void Workers::reset_statistics() { impl_->pool->clear_counts(); }

int hardware_threads() {
  // The set must be at least as large as the CPU set of the kernel. A machine may have more CPUs
  // than fit into a plain cpu_set_t.
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
