// Benchmarks of the kernels for each precision, compared with FMA kernels.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/tests/bench/families.h"
#include "weft/tests/bench/prepared_op.h"

namespace weft::bench {
namespace {

struct Case {
  const char* op;
  const char* name;
  std::vector<Sizes> inputs;
  Attributes attributes;
};

// Returns the cases: a square matmul, the matmuls of GPT-2 small for 1024 tokens, a matmul with few
// rows, and the attention of one GPT-2 layer.
std::vector<Case> cases() {
  const Attributes nn{{"transpose_a", false}, {"transpose_b", false}};
  const Attributes nt{{"transpose_a", false}, {"transpose_b", true}};
  const Attributes tn{{"transpose_a", true}, {"transpose_b", false}};
  return {{"matmul", "1024x1024x1024/NN", {{1024, 1024}, {1024, 1024}}, nn},
          {"matmul", "1024x3072x768/NT", {{1024, 768}, {3072, 768}}, nt},
          {"matmul", "1024x768x3072/NN", {{1024, 3072}, {3072, 768}}, nn},
          {"matmul", "768x3072x1024/TN", {{1024, 768}, {1024, 3072}}, tn},
          {"matmul", "64x768x768/NT", {{64, 768}, {768, 768}}, nt},
          {"attention",
           "4x12x256x64_causal",
           {{4, 12, 256, 64}, {4, 12, 256, 64}, {4, 12, 256, 64}},
           {{"causal", true}, {"scale", 0.125}}}};
}

double seconds() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Alternates between the kernel that the dispatch table chooses for a precision and the FMA kernel,
// on the same operands.
void measure_precision(benchmark::State& state, const Case& c, Precision precision, int threads) {
  std::vector<Tensor> inputs;
  for (const Sizes& sizes : c.inputs) inputs.push_back(random_tensor(sizes));
  PreparedOp chosen(c.op, inputs, c.attributes, threads, precision);
  const kernels::ForcedBf16Unit forced(std::nullopt);
  PreparedOp fma(c.op, inputs, c.attributes, threads, precision);
  chosen.run();  // warm-up, which also touches all memory
  fma.run();
  std::vector<double> ours, theirs;
  for (auto _ : state) {
    double start = seconds();
    chosen.run();
    ours.push_back(seconds() - start);
    state.SetIterationTime(ours.back());
    start = seconds();
    fma.run();
    theirs.push_back(seconds() - start);
  }
  report(state, chosen.cost());
  state.counters["vs_fma"] = median(theirs) / median(ours);
}

}  // namespace

void add_precision_benchmarks() {
  for (const int threads : thread_counts()) {
    for (const Case& c : cases()) {
      for (const Precision precision : {Precision::medium, Precision::high, Precision::highest}) {
        const std::string name = fmt::format("precision/{}/{}/{}/threads:{}", c.op, c.name,
                                             precision_name(precision), threads);
        benchmark::RegisterBenchmark(name.c_str(), measure_precision, c, precision, threads)
            ->UseManualTime()
            ->Unit(benchmark::kMicrosecond);
      }
    }
  }
}

}  // namespace weft::bench
