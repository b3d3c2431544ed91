// Benchmarks of a fused elementwise chain. The same run also measures a cache-bypassing copy of the
// same number of bytes.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "weft/ops/kernels/stream_copy.h"
#include "weft/tests/bench/families.h"
#include "weft/tests/bench/prepared_op.h"

namespace weft::bench {
namespace {

/// Ten ops on one large tensor (%0), a row of 4096 elements that is broadcast (%1), and three
/// scalars.
constexpr char kChain[] =
    "%5 = mul(%0, %2); %6 = add(%5, %1); %7 = sub(%6, %3); %8 = square(%7); %9 = mul(%8, %4); "
    "%10 = add(%9, %6); %11 = relu(%10); %12 = mul(%11, %7); %13 = abs(%12); "
    "%14 = minimum(%13, %3); return %14";

double seconds(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

/// Copies one tensor to another on `threads` threads, with streaming stores that bypass the caches.
class StreamCopy {
 public:
  StreamCopy(Tensor from, int threads)
      : from_(std::move(from)),
        to_(Tensor::empty(from_.dtype(), from_.sizes())),
        workers_({.threads = threads}) {}

  void run() {
    const auto bytes = static_cast<std::int64_t>(from_.bytes());
    const std::int64_t chunks = chunk_count(bytes, 1 << 18);
    workers_.for_chunks(chunks, [&](std::int64_t chunk, int) {
      const ChunkRange r = chunk_range(bytes, chunks, chunk, 64);
      kernels::stream_copy(from_.raw() + r.begin, to_.mutable_raw() + r.begin,
                           static_cast<std::size_t>(r.end - r.begin));
      kernels::stream_fence();
    });
  }

 private:
  Tensor from_, to_;
  Workers workers_;
};

/// Runs the chain and the copy alternately. "of_copy" is the median time of the copy divided by the
/// median time of the chain.
void chain(benchmark::State& state, std::int64_t elements, int threads) {
  constexpr std::int64_t kRow = 4096;
  const Tensor x = random_tensor({elements / kRow, kRow});
  PreparedOp fused("fused",
                   {x, random_tensor({kRow}), Tensor::scalar(DType::f32, 0.75),
                    Tensor::scalar(DType::f32, 0.5), Tensor::scalar(DType::f32, 0.25)},
                   {{"program", std::string(kChain)}}, threads);
  StreamCopy copy(x, threads);
  fused.run();
  copy.run();
  std::vector<double> fused_seconds, copy_seconds;
  for (auto _ : state) {
    fused_seconds.push_back(seconds([&] { fused.run(); }));
    state.PauseTiming();
    copy_seconds.push_back(seconds([&] { copy.run(); }));
    state.ResumeTiming();
  }
  report(state, fused.cost());
  state.counters["of_copy"] = median(copy_seconds) / median(fused_seconds);
  state.counters["copy_GBps"] = 2e-9 * static_cast<double>(x.bytes()) / median(copy_seconds);
}

}  // namespace

void add_fused_benchmarks() {
  for (const int threads : thread_counts()) {
    for (const std::int64_t elements :
         {std::int64_t{1} << 14, std::int64_t{1} << 20, std::int64_t{1} << 26}) {
      benchmark::RegisterBenchmark(
          fmt::format("fused_chain/{}/threads:{}", elements, threads).c_str(), chain, elements,
          threads)
          ->UseRealTime();
    }
  }
}

}  // namespace weft::bench
