#include "weft/models/program/bench/machine.h"

#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

#include "weft/core/tensor.h"
#include "weft/ops/kernels/peak.h"

namespace weft::program {
namespace {

// Threads of its own, all at work at the same time: a pool might run two shares on one thread.
double sum_over_threads(int threads, const std::function<double(int)>& measure) {
  std::vector<double> rates(static_cast<std::size_t>(threads));
  std::latch start(threads);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      start.arrive_and_wait();
      rates[static_cast<std::size_t>(t)] = measure(t);
    });
  }
  for (std::thread& worker : workers) worker.join();
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

}  // namespace

double fma_peak(int threads) {
  constexpr double kSeconds = 0.1;
  return sum_over_threads(threads, [](int) {
    const kernels::FmaRun run = kernels::run_fma_chains(DType::f32, kSeconds);
    return run.flop / run.seconds;
  });
}

double read_bandwidth(int threads, std::size_t bytes) {
  const std::size_t share = std::max<std::size_t>(bytes / static_cast<std::size_t>(threads), 4096) /
                            kTensorAlignment * kTensorAlignment;
  const auto buffer = Buffer::allocate(share * static_cast<std::size_t>(threads));
  std::memset(buffer->data(), 0, buffer->bytes());
  constexpr int kTimes = 5;
  return sum_over_threads(threads, [&](int t) {
    return kernels::measure_read_rate(buffer->data() + static_cast<std::size_t>(t) * share, share,
                                      kTimes);
  });
}

std::size_t peak_rss_bytes() {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

}  // namespace weft::program
