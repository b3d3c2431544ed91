// Benchmarks of the overhead of splitting a phase between two threads, after pauses during which
// the helper threads poll or go to sleep.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "weft/core/parallel.h"
#include "weft/tests/bench/families.h"

namespace weft::bench {
namespace {

using Clock = std::chrono::steady_clock;

// Keeps the CPU busy for `time`.
void spin_for(std::chrono::microseconds time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
  }
}

double microseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
}

double median(std::vector<double>& values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

void phase(benchmark::State& state, std::chrono::microseconds pause) {
  constexpr std::chrono::microseconds kWork(20);
  Workers workers({.threads = 2});
  std::vector<double> first, extra;
  for (auto _ : state) {
    spin_for(pause);
    double second_began = -1;  // written only by the chunk that runs in slot 1, if any
    const auto begin = Clock::now();
    workers.for_chunks(2, [&](std::int64_t, int slot) {
      if (slot == 1) second_began = microseconds_since(begin);
      spin_for(kWork);
    });
    extra.push_back(microseconds_since(begin) - kWork.count());
    if (second_began >= 0) first.push_back(second_began);
  }
  // If the second thread arrived too late, the caller ran both chunks, which takes 20 us longer.
  state.counters["extra_us"] = median(extra);
  state.counters["shared"] = static_cast<double>(first.size()) / static_cast<double>(extra.size());
  if (!first.empty()) state.counters["begins_us"] = median(first);
}

}  // namespace

void add_workers_benchmarks() {
  for (const int pause : {0, 20, 80, 400}) {
    benchmark::RegisterBenchmark(fmt::format("workers/pause:{}us", pause).c_str(), phase,
                                 std::chrono::microseconds(pause))
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace weft::bench
