#include "weft/core/parallel.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "weft/core/error.h"
#include "weft/tests/support/more_threads.h"

using namespace weft;

namespace {

struct ManyThreads : testing::MoreThreads {
  ManyThreads() : MoreThreads(16) {}
};

// Runs chunks that wait until `wanted` threads are inside a chunk at the same time, or until a
// timeout.
int meet(Workers& workers, int wanted) {
  std::atomic<int> inside{0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  workers.for_chunks(wanted, [&](std::int64_t, int) {
    inside.fetch_add(1);
    while (inside.load() < wanted && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
  });
  return workers.statistics().distinct_slots;
}

}  // namespace

BOOST_FIXTURE_TEST_SUITE(parallel, ManyThreads)

BOOST_AUTO_TEST_CASE(every_chunk_runs_once) {
  for (int threads : {1, 2, 5}) {
    Workers workers({.threads = threads});
    BOOST_TEST(workers.slots() == threads);
    for (std::int64_t chunks : {0, 1, 2, 3, 17, 1000}) {
      std::vector<std::atomic<int>> runs(static_cast<std::size_t>(chunks));
      std::atomic<int> bad_slots{0};
      workers.for_chunks(chunks, [&](std::int64_t chunk, int slot) {
        runs[static_cast<std::size_t>(chunk)].fetch_add(1);
        if (slot < 0 || slot >= threads) bad_slots.fetch_add(1);
      });
      for (auto& r : runs) BOOST_TEST(r.load() == 1);
      BOOST_TEST(bad_slots.load() == 0);
    }
    BOOST_TEST(workers.statistics().parallel_chunks == 1023);
    workers.reset_statistics();
    BOOST_TEST(workers.statistics().parallel_chunks == 0);
    BOOST_TEST(workers.statistics().distinct_slots == 0);
  }
}

BOOST_AUTO_TEST_CASE(all_slots_run_concurrently) {
  for (int threads : {2, 5}) {
    Workers workers({.threads = threads});
    BOOST_TEST(meet(workers, threads) == threads);
    BOOST_TEST(workers.statistics().parallel_chunks == threads);
  }
}

BOOST_AUTO_TEST_CASE(no_slot_runs_two_chunks_concurrently) {
  Workers workers({.threads = 5});
  std::vector<std::atomic<int>> inside(5);
  std::atomic<int> collisions{0};
  for (int round = 0; round < 50; ++round) {
    workers.for_chunks(64, [&](std::int64_t, int slot) {
      auto& mine = inside[static_cast<std::size_t>(slot)];
      if (mine.fetch_add(1) != 0) collisions.fetch_add(1);
      std::this_thread::yield();
      mine.fetch_sub(1);
    });
  }
  BOOST_TEST(collisions.load() == 0);
}

BOOST_AUTO_TEST_CASE(writes_of_one_call_are_visible_in_the_next_call) {
  Workers workers({.threads = 5});
  std::vector<std::int64_t> data(100, 0);
  for (int round = 0; round < 100; ++round) {
    workers.for_chunks(100, [&](std::int64_t c, int) {
      const auto i = static_cast<std::size_t>(c);
      data[i] += data[i] + c;
    });
    workers.for_chunks(50, [&](std::int64_t c, int) {
      const auto i = static_cast<std::size_t>(c);
      std::swap(data[i], data[99 - i]);
      data[i] %= 1000;
    });
  }
  std::vector<std::int64_t> wanted(100, 0);
  for (int round = 0; round < 100; ++round) {
    for (std::size_t i = 0; i < 100; ++i) wanted[i] += wanted[i] + static_cast<std::int64_t>(i);
    for (std::size_t i = 0; i < 50; ++i) {
      std::swap(wanted[i], wanted[99 - i]);
      wanted[i] %= 1000;
    }
  }
  BOOST_TEST(data == wanted, boost::test_tools::per_element());
}

// Two threads, each with its own Workers, run short and long phases, as two Sessions would.
BOOST_AUTO_TEST_CASE(several_workers_run_concurrently) {
  constexpr int kCallers = 4, kPhases = 300;
  std::vector<std::int64_t> sums(kCallers, 0);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < kCallers; ++caller) {
    callers.emplace_back([&, caller] {
      Workers workers({.threads = 3});
      std::vector<std::int64_t> parts(17, caller);
      for (int phase = 0; phase < kPhases; ++phase) {
        workers.for_chunks(
            17, [&](std::int64_t chunk, int) { parts[static_cast<std::size_t>(chunk)] += chunk; });
        if (phase % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      for (const std::int64_t part : parts) sums[static_cast<std::size_t>(caller)] += part;
    });
  }
  for (std::thread& t : callers) t.join();
  for (int caller = 0; caller < kCallers; ++caller) {
    BOOST_TEST(sums[static_cast<std::size_t>(caller)] == kPhases * 136 + 17 * caller);
  }
}

BOOST_AUTO_TEST_CASE(workers_are_created_and_destroyed_repeatedly) {
  std::atomic<int> ran{0};
  for (int round = 0; round < 200; ++round) {
    Workers workers({.threads = 5});  // destroyed before all its helper threads have started
    workers.for_chunks(8, [&](std::int64_t, int) { ran.fetch_add(1); });
  }
  BOOST_TEST(ran.load() == 1600);
}

BOOST_AUTO_TEST_CASE(the_lowest_failing_chunk_is_reported) {
  for (int threads : {1, 5}) {
    Workers workers({.threads = threads});
    for (int round = 0; round < 20; ++round) {
      std::atomic<int> ran{0};
      BOOST_CHECK_EXCEPTION(
          workers.for_chunks(1000,
                             [&](std::int64_t chunk, int) {
                               ran.fetch_add(1);
                               if (chunk == 3) std::this_thread::yield();
                               if (chunk >= 3) {
                                 throw DataError("chunk " + std::to_string(chunk));
                               }
                             }),
          DataError, [](const DataError& e) { return e.what() == std::string("chunk 3"); });
      BOOST_TEST(ran.load() < 1000);  // the remaining chunks are not started
    }
    std::atomic<int> ran{0};
    workers.for_chunks(10, [&](std::int64_t, int) { ran.fetch_add(1); });
    BOOST_TEST(ran.load() == 10);  // the workers can still be used
  }
}

BOOST_AUTO_TEST_CASE(concurrent_or_nested_use_is_an_error) {
  Workers workers({.threads = 2});
  const std::string wanted =
      "these Workers are busy: for_chunks was called from a second thread or from a body that "
      "they run; give each thread its own Workers";
  auto busy = [&](const StateError& e) { return e.what() == wanted; };
  auto nothing = [](std::int64_t, int) {};
  for (std::int64_t chunks : {1, 2}) {
    BOOST_CHECK_EXCEPTION(
        workers.for_chunks(chunks, [&](std::int64_t, int) { workers.for_chunks(1, nothing); }),
        StateError, busy);
    workers.for_chunks(chunks, [&](std::int64_t chunk, int) {
      if (chunk != 0) return;
      std::string message;
      std::thread other([&] {
        try {
          workers.for_chunks(1, nothing);
        } catch (const StateError& e) {
          message = e.what();
        }
      });
      other.join();
      if (message != wanted) throw std::runtime_error("no error: " + message);
    });
  }
  Workers inner({.threads = 2});
  std::atomic<int> ran{0};
  std::mutex mutex;
  workers.for_chunks(8, [&](std::int64_t, int) {
    // Other Workers may be used inside a body, but only by one thread at a time.
    std::lock_guard lock(mutex);
    inner.for_chunks(8, [&](std::int64_t, int) { ran.fetch_add(1); });
  });
  BOOST_TEST(ran.load() == 64);
}

BOOST_AUTO_TEST_CASE(cheap_work_runs_in_order_on_the_calling_thread) {
  Workers workers({.threads = 5});
  const auto self = std::this_thread::get_id();
  std::vector<std::int64_t> order;
  const auto in_order = [&](std::int64_t chunk, int slot) {
    BOOST_TEST(slot == 0);
    BOOST_TEST((std::this_thread::get_id() == self));
    order.push_back(chunk);
  };
  workers.for_chunks(5, in_order, 1e3);
  BOOST_TEST((order == std::vector<std::int64_t>{0, 1, 2, 3, 4}));
  BOOST_TEST(workers.statistics().parallel_chunks == 0);
  workers.for_chunks(1, [&](std::int64_t, int slot) {
    BOOST_TEST(slot == 0);
    BOOST_TEST((std::this_thread::get_id() == self));
  });
}

BOOST_AUTO_TEST_CASE(shuffling_changes_the_order_and_runs_every_chunk_once) {
  auto orders = [](std::uint64_t seed) {
    Workers workers({.threads = 1, .shuffle_seed = seed});
    std::vector<std::vector<std::int64_t>> out(2);
    for (auto& order : out) {
      workers.for_chunks(40, [&](std::int64_t chunk, int) { order.push_back(chunk); });
      BOOST_TEST(std::set<std::int64_t>(order.begin(), order.end()).size() == 40u);
    }
    return out;
  };
  const auto a = orders(1);
  BOOST_TEST((a[0] != a[1]));
  BOOST_TEST((a == orders(1)));
  BOOST_TEST((a[0] != orders(2)[0]));

  Workers workers({.threads = 5, .shuffle_seed = 3});
  std::vector<std::atomic<int>> runs(500);
  workers.for_chunks(500, [&](std::int64_t c, int) { runs[static_cast<std::size_t>(c)]++; });
  for (auto& r : runs) BOOST_TEST(r.load() == 1);
}

#if defined(__x86_64__)
BOOST_AUTO_TEST_CASE(chunks_run_in_the_default_floating_point_environment) {
  // The flags for flush to zero, denormals are zero, and truncation.
  const unsigned odd = 0x1f80u | 0x8040u | 0x6000u;
  const unsigned saved = _mm_getcsr();
  for (std::int64_t chunks : {1, 64}) {
    Workers workers({.threads = 5});
    std::atomic<int> wrong{0};
    _mm_setcsr(odd);
    workers.for_chunks(chunks, [&](std::int64_t, int) {
      if ((_mm_getcsr() & 0xffc0u) != 0x1f80u) wrong.fetch_add(1);
    });
    const auto serial = [&](std::int64_t, int) {
      if ((_mm_getcsr() & 0xffc0u) != 0x1f80u) wrong.fetch_add(1);
    };
    workers.for_chunks(chunks, serial, 0);
    try {
      workers.for_chunks(chunks, [](std::int64_t, int) { throw std::runtime_error("x"); });
    } catch (const std::runtime_error&) {
    }
    const unsigned after = _mm_getcsr();
    _mm_setcsr(saved);
    BOOST_TEST(wrong.load() == 0);
    BOOST_TEST(after == odd);
  }
}
#endif

BOOST_AUTO_TEST_CASE(invalid_options_are_rejected) {
  BOOST_TEST(hardware_threads() >= 1);
  BOOST_TEST(Workers().slots() == hardware_threads());
  for (int threads : {-1, 4097}) {
    BOOST_CHECK_EXCEPTION(Workers({.threads = threads}), ArgumentError, [&](const Error& e) {
      return e.what() == "threads is " + std::to_string(threads) +
                             "; it must be in 1..4096, or 0 for one per hardware thread";
    });
  }
}

BOOST_AUTO_TEST_SUITE_END()
