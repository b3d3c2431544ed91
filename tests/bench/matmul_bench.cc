#include <fmt/format.h>

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

// GPT-2 small on 512 tokens, its last layer, one token of decoding; then the small GPT of
// ./run demo.
constexpr Product kProducts[] = {
    {"qkv", 512, 2304, 768, false, false},
    {"projection", 512, 768, 768, false, false},
    {"feed_forward_up", 512, 3072, 768, false, false},
    {"feed_forward_down", 512, 768, 3072, false, false},
    {"input_gradient", 512, 768, 3072, false, true},
    {"weight_gradient", 768, 3072, 512, true, false},
    {"logits_tied", 64, 50257, 768, false, true},
    {"decode_up", 1, 3072, 768, false, false},
    {"decode_logits", 1, 50257, 768, false, true},
    {"char_feed_forward", 768, 512, 128, false, false},
};

struct Operands {
  Tensor a, b;
};
Operands operands(const Product& p) {
  return {random_tensor(p.transpose_a ? Sizes{p.k, p.m} : Sizes{p.m, p.k}),
          random_tensor(p.transpose_b ? Sizes{p.n, p.k} : Sizes{p.k, p.n})};
}

void weft_product(benchmark::State& state, const Product& p, int threads) {
  const auto [a, b] = operands(p);
  measure(state, "matmul", {a, b}, {{"transpose_a", p.transpose_a}, {"transpose_b", p.transpose_b}},
          threads);
}

#ifdef WEFT_OPENBLAS
void openblas_product(benchmark::State& state, const Product& p, int threads) {
  const auto [a, b] = operands(p);
  Tensor c = Tensor::empty(DType::f32, {p.m, p.n});
  openblas_set_num_threads(threads);
  const auto multiply = [&] {
    cblas_sgemm(CblasRowMajor, p.transpose_a ? CblasTrans : CblasNoTrans,
                p.transpose_b ? CblasTrans : CblasNoTrans, static_cast<int>(p.m),
                static_cast<int>(p.n), static_cast<int>(p.k), 1.0F, a.data<float>(),
                static_cast<int>(a.size(1)), b.data<float>(), static_cast<int>(b.size(1)), 0.0F,
                c.mutable_data<float>(), static_cast<int>(p.n));
  };
  multiply();
  for (auto _ : state) multiply();
  const auto m = static_cast<double>(p.m);
  const auto n = static_cast<double>(p.n);
  const auto k = static_cast<double>(p.k);
  report(state, {.flops = 2 * m * n * k, .bytes = 4 * (m * k + k * n + m * n)});
}
#endif

using Function = void (*)(benchmark::State&, const Product&, int);
void add(const char* program, Function function, const Product& p, int threads) {
  const std::string form =
      fmt::format("{}{}", p.transpose_a ? 'T' : 'N', p.transpose_b ? 'T' : 'N');
  const std::string name = fmt::format("matmul/{}/{}x{}x{}/{}/threads:{}/{}", p.name, p.m, p.n, p.k,
                                       form, threads, program);
  benchmark::RegisterBenchmark(name.c_str(), function, p, threads)
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace

void add_matmul_benchmarks() {
  for (const int threads : thread_counts()) {
    for (const Product& p : kProducts) {
      add("weft", weft_product, p, threads);
#ifdef WEFT_OPENBLAS
      add("openblas", openblas_product, p, threads);
#endif
    }
  }
}

}  // namespace weft::bench
