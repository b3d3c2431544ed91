#include "weft/models/program/bench/machine.h"

#include <sys/resource.h>

#include <algorithm>
#include <barrier>
#include <chrono>
#include <cstring>
#include <functional>
#include <latch>
#include <thread>
#include <vector>

#include "weft/ops/kernels/targets/peak.h"

namespace weft::program {
namespace {

// Uses separate threads, which all run at the same time. A thread pool might run two parts of the
// work on one thread.
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

double integer_peak(int threads) {
  constexpr double kSeconds = 0.1;
  return sum_over_threads(threads, [](int) {
    const kernels::IntegerRun run = kernels::run_integer_chains(kSeconds);
    return run.products / run.seconds;
  });
}

ReadBandwidth::ReadBandwidth(int threads, std::size_t bytes)
    : threads_(threads),
      share_(std::max<std::size_t>(bytes / static_cast<std::size_t>(threads), 4096) /
             kTensorAlignment * kTensorAlignment),
      buffer_(Buffer::allocate(share_ * static_cast<std::size_t>(threads))) {
  std::memset(buffer_->data(), 0, buffer_->bytes());
}

double ReadBandwidth::measure() const {
  // All threads read at the same time, and the result is the median of several passes. One thread
  // reads faster if the others are idle or if the data happens to be in a cache, but all threads
  // together cannot sustain that rate.
  constexpr int kPasses = 7;
  std::vector<double> seconds;
  auto last = std::chrono::steady_clock::now();
  std::barrier passed(threads_, [&]() noexcept {
    const auto now = std::chrono::steady_clock::now();
    seconds.push_back(std::chrono::duration<double>(now - last).count());
    last = now;
  });
  seconds.reserve(kPasses + 1);
  std::vector<std::thread> workers;
  for (int t = 0; t < threads_; ++t) {
    workers.emplace_back([&, t] {
      passed.arrive_and_wait();
      for (int pass = 0; pass < kPasses; ++pass) {
        kernels::read_memory(buffer_->data() + static_cast<std::size_t>(t) * share_, share_);
        passed.arrive_and_wait();
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  seconds.erase(seconds.begin());  // includes the time to start all threads
  std::sort(seconds.begin(), seconds.end());
  return static_cast<double>(buffer_->bytes()) / seconds[kPasses / 2];
}

std::size_t peak_rss_bytes() {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

}  // namespace weft::program
