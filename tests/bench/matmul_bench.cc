// Benchmarks of matrix products, compared with OpenBLAS if CMake found it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "weft/ops/kernels/targets/peak.h"
#include "weft/tests/bench/families.h"
#include "weft/tests/bench/prepared_op.h"
#ifdef WEFT_OPENBLAS
#include <cblas.h>
extern "C" void openblas_set_num_threads(int threads);
#endif

namespace weft::bench {
namespace {

struct Product {
  const char* name;
  std::int64_t m, n, k;
  bool transpose_a, transpose_b;
};

// Square products; the layers of GPT-2 small with 1024 and 256 tokens, transposed as in the forward
// and backward passes; its tied output layer; products with few rows or an unusual depth; and
// decoding of one to eight tokens.
constexpr Product kProducts[] = {
    {"square", 1024, 1024, 1024, false, false},
    {"square", 1024, 1024, 1024, false, true},
    {"square", 1024, 1024, 1024, true, false},
    {"feed_forward_up", 1024, 3072, 768, false, false},
    {"feed_forward_up", 1024, 3072, 768, false, true},
    {"input_gradient", 1024, 768, 3072, false, true},
    {"weight_gradient", 768, 3072, 1024, true, false},
    {"qkv", 256, 2304, 768, false, true},
    {"projection", 256, 768, 768, false, true},
    {"feed_forward_up", 256, 3072, 768, false, true},
    {"feed_forward_down", 256, 768, 3072, false, true},
    {"logits_tied", 256, 50257, 768, false, true},
    {"few_tokens", 64, 768, 768, false, true},
    {"narrow_depth", 512, 512, 64, false, true},
    {"long_depth", 128, 128, 8192, true, false},
    {"decode_projection", 1, 768, 768, false, true},
    {"decode_up", 1, 3072, 768, false, true},
    {"decode_up", 1, 3072, 768, false, false},
    {"decode_logits", 1, 50257, 768, false, true},
    {"decode_down", 4, 768, 3072, false, true},
    {"decode_down", 8, 768, 3072, false, true},
};

struct Operands {
  Tensor a, b;
};
Operands operands(const Product& p) {
  return {random_tensor(p.transpose_a ? Sizes{p.k, p.m} : Sizes{p.m, p.k}),
          random_tensor(p.transpose_b ? Sizes{p.n, p.k} : Sizes{p.k, p.n})};
}

double seconds() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// Returns the peak FMA rate of one thread in FLOP/s. It is measured once per process, before the
// first product.
double fma_peak() {
  // The best of ten attempts, measured in CPU time, which excludes the time that other programs
  // use.
  static const double peak = [] {
    double best = 0;
    for (int i = 0; i < 10; ++i) {
      const kernels::FmaRun run = kernels::run_fma_chains(DType::f32, 0.01);
      best = std::max(best, run.flop / run.thread_seconds);
    }
    return best;
  }();
  return peak;
}

// Runs Weft and OpenBLAS (if CMake found it) alternately on the same operands.
void measure_product(benchmark::State& state, const Product& p, int threads) {
  const double peak = fma_peak() * threads;
  const Operands given = operands(p);
  const Tensor &a = given.a, &b = given.b;  // clang 14 cannot capture structured bindings
  PreparedOp weft("matmul", {a, b},
                  {{"transpose_a", p.transpose_a}, {"transpose_b", p.transpose_b}}, threads);
  weft.run();  // warm-up, which also touches all memory
#ifdef WEFT_OPENBLAS
  Tensor c = Tensor::empty(DType::f32, {p.m, p.n});
  openblas_set_num_threads(threads);
  const auto openblas = [&] {
    cblas_sgemm(CblasRowMajor, p.transpose_a ? CblasTrans : CblasNoTrans,
                p.transpose_b ? CblasTrans : CblasNoTrans, static_cast<int>(p.m),
                static_cast<int>(p.n), static_cast<int>(p.k), 1.0F, a.data<float>(),
                static_cast<int>(a.size(1)), b.data<float>(), static_cast<int>(b.size(1)), 0.0F,
                c.mutable_data<float>(), static_cast<int>(p.n));
  };
  openblas();
#endif
  std::vector<double> ours, theirs;
  for (auto _ : state) {
    double start = seconds();
    weft.run();
    ours.push_back(seconds() - start);
    state.SetIterationTime(ours.back());
#ifdef WEFT_OPENBLAS
    start = seconds();
    openblas();
    theirs.push_back(seconds() - start);
#endif
  }
  report(state, weft.cost());
  state.counters["of_peak"] = weft.cost().flops / median(ours) / peak;
  if (!theirs.empty()) state.counters["vs_openblas"] = median(theirs) / median(ours);
}

}  // namespace

void add_matmul_benchmarks() {
  for (const int threads : thread_counts()) {
    for (const Product& p : kProducts) {
      const std::string name =
          fmt::format("matmul/{}/{}x{}x{}/{}{}/threads:{}", p.name, p.m, p.n, p.k,
                      p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N', threads);
      benchmark::RegisterBenchmark(name.c_str(), measure_product, p, threads)
          ->UseManualTime()
          ->Unit(benchmark::kMicrosecond);
    }
  }
}

}  // namespace weft::bench
