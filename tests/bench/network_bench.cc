// Benchmarks of softmax, norms, cross-entropy and attention at GPT-2 shapes, and of reductions over
// short rows.
#include <fmt/format.h>

#include "weft/tests/bench/families.h"
#include "weft/tests/bench/prepared_op.h"

namespace weft::bench {
namespace {

using Function = void (*)(benchmark::State&, int);
void add(const char* name, Function function, int threads) {
  benchmark::RegisterBenchmark(fmt::format("{}/threads:{}", name, threads).c_str(), function,
                               threads)
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

void softmax(benchmark::State& state, int threads) {
  measure(state, "softmax", {random_tensor({12 * 512, 512})}, {{"axis", std::int64_t{1}}}, threads);
}
// Short rows, each of which is a fraction of a vector: 65,536 rows of `kElements` elements.
template <std::int64_t kElements>
void short_sum(benchmark::State& state, int threads) {
  measure(state, "sum", {random_tensor({65536, kElements})},
          {{"axes", std::vector<std::int64_t>{1}}}, threads);
}
template <std::int64_t kElements>
void short_logsumexp(benchmark::State& state, int threads) {
  measure(state, "logsumexp", {random_tensor({65536, kElements})},
          {{"axes", std::vector<std::int64_t>{1}}}, threads);
}
template <std::int64_t kElements>
void short_softmax(benchmark::State& state, int threads) {
  measure(state, "softmax", {random_tensor({65536, kElements})}, {{"axis", std::int64_t{1}}},
          threads);
}
void layer_norm(benchmark::State& state, int threads) {
  measure(state, "layer_norm",
          {random_tensor({512, 768}), random_tensor({768}), random_tensor({768})},
          {{"axes", std::int64_t{1}}, {"eps", 1e-5}}, threads);
}
void rms_norm(benchmark::State& state, int threads) {
  measure(state, "rms_norm", {random_tensor({512, 768}), random_tensor({768})}, {{"eps", 1e-6}},
          threads);
}
void cross_entropy(benchmark::State& state, int threads) {
  measure(state, "cross_entropy", {random_tensor({64, 50257}), random_ids({64}, 50257)},
          {{"axis", std::int64_t{1}}}, threads);
}
void attention(benchmark::State& state, int threads) {
  measure(state, "attention",
          {random_tensor({1, 12, 512, 64}), random_tensor({1, 12, 512, 64}),
           random_tensor({1, 12, 512, 64})},
          {{"causal", true}, {"scale", 0.125}}, threads);
}

}  // namespace

void add_network_benchmarks() {
  for (const int threads : thread_counts()) {
    add("softmax/6144x512", softmax, threads);
    add("sum/65536x4", short_sum<4>, threads);
    add("sum/65536x16", short_sum<16>, threads);
    add("logsumexp/65536x4", short_logsumexp<4>, threads);
    add("logsumexp/65536x16", short_logsumexp<16>, threads);
    add("softmax/65536x4", short_softmax<4>, threads);
    add("softmax/65536x16", short_softmax<16>, threads);
    add("layer_norm/512x768", layer_norm, threads);
    add("rms_norm/512x768", rms_norm, threads);
    add("cross_entropy/64x50257", cross_entropy, threads);
    add("attention/1x12x512x64_causal", attention, threads);
  }
}

}  // namespace weft::bench
