#include "weft/core/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "weft/core/error.h"

using namespace weft;

namespace {

using Clock = std::chrono::steady_clock;

// A pool whose workers are threads of this test. The destructor joins them.
struct PoolWithThreads {
  explicit PoolWithThreads(int slots) : slots(slots), pool(slots) {}
  ~PoolWithThreads() {
    pool.shutdown();
    for (std::thread& t : threads) t.join();
  }
  void run(std::int64_t chunks, ThreadPool::Body body) {
    pool.run(chunks, nullptr, body, slots - 1,
             [&] { threads.emplace_back([this] { pool.worker_loop(); }); });
  }
  const int slots;
  ThreadPool pool;
  std::vector<std::thread> threads;
};

constexpr auto no_thread = [] {};

}  // namespace

BOOST_AUTO_TEST_SUITE(thread_pool)

BOOST_AUTO_TEST_CASE(run_does_not_wait_for_workers_that_never_start) {
  ThreadPool pool(4);
  for (int round = 0; round < 3; ++round) {
    std::vector<int> runs(100, 0);
    pool.run(
        100, nullptr,
        [&](std::int64_t chunk, int slot) {
          BOOST_TEST(slot == 0);
          ++runs[static_cast<std::size_t>(chunk)];
        },
        3, no_thread);
    BOOST_TEST(runs == std::vector<int>(100, 1), boost::test_tools::per_element());
    BOOST_TEST(pool.workers() == 3);  // still expected to start, so not submitted again
  }
}

BOOST_AUTO_TEST_CASE(without_threads_the_caller_runs_all_chunks) {
  ThreadPool pool(4);
  int ran = 0, submitted = 0;
  pool.run(
      10, nullptr, [&](std::int64_t, int) { ++ran; }, 3,
      [&] {
        ++submitted;
        throw std::bad_alloc();
      });
  BOOST_TEST(ran == 10);
  BOOST_TEST(submitted == 1);
  BOOST_TEST(pool.workers() == 0);
}

BOOST_AUTO_TEST_CASE(a_late_worker_finds_no_work_and_exits) {
  ThreadPool pool(2);
  int ran = 0;
  pool.run(
      5, nullptr, [&](std::int64_t, int) { ++ran; }, 1, no_thread);
  BOOST_TEST(pool.workers() == 1);
  pool.worker_loop();
  BOOST_TEST(pool.workers() == 0);
  BOOST_TEST(ran == 5);
}

BOOST_AUTO_TEST_CASE(idle_workers_exit) {
  PoolWithThreads threaded(3);
  for (int round = 0; round < 5; ++round) {
    std::atomic<int> ran{0};
    threaded.run(50, [&](std::int64_t, int) { ran.fetch_add(1); });
    BOOST_TEST(ran.load() == 50);
    const auto deadline = Clock::now() + std::chrono::seconds(20);
    while (threaded.pool.workers() > 0 && Clock::now() < deadline) std::this_thread::yield();
    BOOST_TEST(threaded.pool.workers() == 0);
  }
}

BOOST_AUTO_TEST_CASE(many_short_phases_run_in_sequence) {
  constexpr int kSlots = 4, kPhases = 20000;
  PoolWithThreads threaded(kSlots);
  std::vector<std::int64_t> sums(7, 0);
  std::vector<std::atomic<int>> inside(kSlots);
  std::atomic<int> collisions{0};
  for (int phase = 0; phase < kPhases; ++phase) {
    // A phase reads the results of the previous phase, on any thread.
    threaded.run(static_cast<std::int64_t>(sums.size()), [&](std::int64_t chunk, int slot) {
      if (inside[static_cast<std::size_t>(slot)].fetch_add(1) != 0) collisions.fetch_add(1);
      sums[static_cast<std::size_t>((chunk + phase) % 7)] += chunk + phase;
      inside[static_cast<std::size_t>(slot)].fetch_sub(1);
    });
  }
  std::vector<std::int64_t> wanted(7, 0);
  for (int phase = 0; phase < kPhases; ++phase) {
    for (int chunk = 0; chunk < 7; ++chunk) {
      wanted[static_cast<std::size_t>((chunk + phase) % 7)] += chunk + phase;
    }
  }
  BOOST_TEST(sums == wanted, boost::test_tools::per_element());
  BOOST_TEST(collisions.load() == 0);
  std::int64_t chunks = 0;
  for (int slot = 0; slot < kSlots; ++slot) chunks += threaded.pool.chunks_of(slot);
  BOOST_TEST(chunks == 7 * kPhases);
}

BOOST_AUTO_TEST_CASE(chunks_are_distributed_in_the_given_order) {
  ThreadPool pool(1);
  std::vector<std::int64_t> order(20), seen;
  std::iota(order.rbegin(), order.rend(), 0);
  pool.run(
      20, order.data(), [&](std::int64_t chunk, int) { seen.push_back(chunk); }, 0, no_thread);
  BOOST_TEST(seen == order, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(every_thread_starts_with_its_own_range_of_chunks) {
  constexpr int kSlots = 4;
  PoolWithThreads threaded(kSlots);
  std::atomic<int> inside{0};
  std::vector<std::atomic<int>> first(kSlots);
  for (auto& f : first) f = -1;
  const auto deadline = Clock::now() + std::chrono::seconds(20);
  threaded.run(40, [&](std::int64_t chunk, int slot) {
    int none = -1;
    if (!first[static_cast<std::size_t>(slot)].compare_exchange_strong(none,
                                                                       static_cast<int>(chunk)))
      return;
    inside.fetch_add(1);  // no thread continues or steals chunks before all threads have arrived
    while (inside.load() < kSlots && Clock::now() < deadline) std::this_thread::yield();
  });
  for (int slot = 0; slot < kSlots; ++slot) {
    BOOST_TEST(first[static_cast<std::size_t>(slot)].load() == 10 * slot);
  }
}

BOOST_AUTO_TEST_CASE(many_chunks_run_exactly_once) {
  PoolWithThreads threaded(3);
  std::vector<std::atomic<char>> runs(200'000);
  threaded.run(200'000, [&](std::int64_t chunk, int) { ++runs[static_cast<std::size_t>(chunk)]; });
  BOOST_TEST(std::all_of(runs.begin(), runs.end(), [](const auto& n) { return n.load() == 1; }));
}

BOOST_AUTO_TEST_CASE(an_exception_cancels_chunks_that_have_not_started) {
  PoolWithThreads threaded(4);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> ran{0};
    BOOST_CHECK_EXCEPTION(threaded.run(1000,
                                       [&](std::int64_t chunk, int) {
                                         ran.fetch_add(1);
                                         if (chunk >= 5) {
                                           throw DataError("chunk " + std::to_string(chunk));
                                         }
                                       }),
                          DataError,
                          [](const DataError& e) { return e.what() == std::string("chunk 5"); });
    BOOST_TEST(ran.load() < 100);
    ran = 0;
    threaded.run(20, [&](std::int64_t, int) { ran.fetch_add(1); });
    BOOST_TEST(ran.load() == 20);
  }
}

BOOST_AUTO_TEST_SUITE_END()
