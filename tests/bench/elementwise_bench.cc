// Benchmarks of single elementwise ops, and of adding a bias to rows.
#include <fmt/format.h>

#include "weft/tests/bench/families.h"
#include "weft/tests/bench/prepared_op.h"

namespace weft::bench {
namespace {

void unary(benchmark::State& state, const std::string& op, std::int64_t elements, int threads) {
  measure(state, op, {random_tensor({elements})}, {}, threads);
}
void binary(benchmark::State& state, const std::string& op, std::int64_t elements, int threads) {
  measure(state, op, {random_tensor({elements}), random_tensor({elements})}, {}, threads);
}
void bias(benchmark::State& state, std::int64_t rows, std::int64_t width, int threads) {
  measure(state, "add", {random_tensor({rows, width}), random_tensor({width})}, {}, threads);
}

}  // namespace

void add_elementwise_benchmarks() {
  // Sizes that fit in the first-level cache, in the second-level cache, or only in memory.
  constexpr std::int64_t kElements[] = {2048, 65536, 8388608};
  for (const int threads : thread_counts()) {
    for (const std::int64_t n : kElements) {
      for (const char* op : {"add", "mul"}) {
        benchmark::RegisterBenchmark(fmt::format("{}/{}/threads:{}", op, n, threads).c_str(),
                                     binary, std::string(op), n, threads)
            ->UseRealTime();
      }
      for (const char* op : {"exp", "tanh", "gelu_erf", "gelu_tanh", "relu"}) {
        benchmark::RegisterBenchmark(fmt::format("{}/{}/threads:{}", op, n, threads).c_str(), unary,
                                     std::string(op), n, threads)
            ->UseRealTime();
      }
    }
    benchmark::RegisterBenchmark(fmt::format("add_bias/512x3072/threads:{}", threads).c_str(), bias,
                                 512, 3072, threads)
        ->UseRealTime();
  }
}

}  // namespace weft::bench
