
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/models/program/bench/benches.h"
#include "weft/models/program/bench/machine.h"
#include "weft/models/program/bench/report.h"
#include "weft/models/program/limits/memory_guard.h"
#include "weft/models/program/terminal/console.h"

namespace weft::program {
namespace {

// Shapes of GPT-2 small with 256 and 1024 tokens (including the output layer), shapes with few
// rows, and a square shape.
constexpr GemmShape kTransformerShapes[] = {{1024, 1024, 1024}, {256, 2304, 768}, {256, 768, 768},
                                            {256, 3072, 768},   {256, 768, 3072}, {1024, 3072, 768},
                                            {256, 50257, 768},  {64, 768, 768},   {1, 768, 768},
                                            {4, 768, 3072},     {512, 512, 64}};

/// Returns pseudo-random numbers in [-1, 1), which contain no pattern that a kernel could exploit.
Tensor operand(const Sizes& sizes) {
  Tensor t = Tensor::empty(DType::f32, sizes);
  auto* data = t.mutable_data<float>();
  std::uint32_t state = 12345;
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    state = state * 1664525U + 1013904223U;
    data[i] = static_cast<float>(state >> 8) * 0x1p-23F - 1;
  }
  return t;
}

Figures measure_shape(const GemmBench& bench, const GemmShape& s) {
  const auto m = static_cast<double>(s.m), n = static_cast<double>(s.n),
             k = static_cast<double>(s.k);
  check_memory("this product", sizeof(float) * (m * k + k * n + m * n), "reduce --m, --n or --k");
  Graph graph;
  const Value a = graph.input("a", DType::f32, {s.m, s.k});
  const Value b = bench.plain_b ? graph.input("b", DType::f32, {s.k, s.n})
                                : graph.input("b", DType::f32, {s.n, s.k});
  Program product("product");
  product.output("c", matmul(a, b, {.transpose_b = !bench.plain_b}));
  Session session(graph, bench.common.session());
  const NamedTensors feeds = {{"a", operand({s.m, s.k})},
                              {"b", bench.plain_b ? operand({s.k, s.n}) : operand({s.n, s.k})}};
  const RunOptions into{.into = {{"c", Tensor::empty(DType::f32, {s.m, s.n})}}};
  const int runs = bench.common.runs > 0 ? bench.common.runs : 20;
  const double before = fma_peak(bench.common.thread_count());
  const Times times = measure(3, runs, [&] { session.run(product, feeds, into); });
  const double peak = (before + fma_peak(bench.common.thread_count())) / 2;
  const double flop =
      2.0 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k);
  const double rate = flop / times.median();
  return {{"m", s.m},
          {"n", s.n},
          {"k", s.k},
          {"seconds", times.median()},
          {"best_seconds", times.best()},
          {"gflops", rate / 1e9},
          {"fraction_of_peak", rate / peak}};
}

}  // namespace

int bench_gemm(const GemmBench& bench) {
  Figures all = {{"benchmark", "gemm"},
                 {"precision", precision_name(bench.common.precision)},
                 {"threads", bench.common.thread_count()},
                 {"b", bench.plain_b ? "[k, n]" : "[n, k]"},
                 {"shapes", Figures::array()}};
  std::vector<GemmShape> shapes = bench.shapes;
  if (shapes.empty()) shapes.assign(std::begin(kTransformerShapes), std::end(kTransformerShapes));
  if (!bench.common.json) {
    say("precision {}, {} threads, b is {}\n{:>6} {:>6} {:>6} {:>12} {:>9} {:>8}\n",
        precision_name(bench.common.precision), bench.common.thread_count(),
        all["b"].get<std::string>(), "m", "n", "k", "microseconds", "GFLOP/s", "of peak");
  }
  for (const GemmShape& shape : shapes) {
    const Figures f = measure_shape(bench, shape);
    if (!bench.common.json) {
      say("{:>6} {:>6} {:>6} {:>12.1f} {:>9.1f} {:>8.2f}\n", shape.m, shape.n, shape.k,
          f["seconds"].get<double>() * 1e6, f["gflops"].get<double>(),
          f["fraction_of_peak"].get<double>());
      flush_stdout();
    }
    all["shapes"].push_back(f);
  }
  if (bench.common.json) print_figures(all, true);
  return 0;
}

}  // namespace weft::program
