
#include <memory>
#include <vector>

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

/// The runs of a product with a number of threads, and the peak FLOP/s of these threads.
struct Side {
  int threads = 0;
  std::unique_ptr<Session> session;
  Times times;
  double peak = 0;
};

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
  const NamedTensors feeds = {{"a", operand({s.m, s.k})},
                              {"b", bench.plain_b ? operand({s.k, s.n}) : operand({s.n, s.k})}};
  const RunOptions into{.into = {{"c", Tensor::empty(DType::f32, {s.m, s.n})}}};

  // Rounds with one thread and rounds with all threads alternate, because the speed of the machine
  // varies over time. The first run of a round is not measured: it wakes the workers.
  const int threads = bench.common.thread_count();
  const int runs = bench.common.runs > 0 ? bench.common.runs : 20;
  constexpr int kRounds = 4;
  std::vector<Side> sides;
  for (const int count : threads > 1 ? std::vector{threads, 1} : std::vector{1}) {
    SessionOptions options = bench.common.session();
    options.threads = count;
    sides.push_back({count, std::make_unique<Session>(graph, options), {}, fma_peak(count)});
  }
  for (int round = 0; round < kRounds; ++round) {
    for (Side& side : sides) {
      const int part = runs * (round + 1) / kRounds - runs * round / kRounds;
      const Times times =
          measure(round == 0 ? 3 : 1, part, [&] { side.session->run(product, feeds, into); });
      side.times.seconds.insert(side.times.seconds.end(), times.seconds.begin(),
                                times.seconds.end());
    }
  }
  for (Side& side : sides) side.peak = (side.peak + fma_peak(side.threads)) / 2;

  const double flop = 2.0 * m * n * k, seconds = sides[0].times.median();
  Figures figures = {{"m", s.m},
                     {"n", s.n},
                     {"k", s.k},
                     {"seconds", seconds},
                     {"best_seconds", sides[0].times.best()},
                     {"gflops", flop / seconds / 1e9},
                     {"fraction_of_peak", flop / seconds / sides[0].peak}};
  if (threads > 1) {
    const double single = sides[1].times.median();
    figures["single_thread_seconds"] = single;
    figures["single_thread_fraction_of_peak"] = flop / single / sides[1].peak;
    figures["scaling"] = single / (threads * seconds);
  }
  return figures;
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
  const bool scaling = bench.common.thread_count() > 1;
  if (!bench.common.json) {
    say("precision {}, {} threads, b is {}\n{:>6} {:>6} {:>6} {:>12} {:>9} {:>8}{}\n",
        precision_name(bench.common.precision), bench.common.thread_count(),
        all["b"].get<std::string>(), "m", "n", "k", "microseconds", "GFLOP/s", "of peak",
        scaling ? "  1 thread: of peak  scaling" : "");
  }
  for (const GemmShape& shape : shapes) {
    const Figures f = measure_shape(bench, shape);
    if (!bench.common.json) {
      say("{:>6} {:>6} {:>6} {:>12.1f} {:>9.1f} {:>8.2f}", shape.m, shape.n, shape.k,
          f["seconds"].get<double>() * 1e6, f["gflops"].get<double>(),
          f["fraction_of_peak"].get<double>());
      if (scaling) {
        say("{:>19.2f} {:>8.2f}", f["single_thread_fraction_of_peak"].get<double>(),
            f["scaling"].get<double>());
      }
      say("\n");
      flush_stdout();
    }
    all["shapes"].push_back(f);
  }
  if (bench.common.json) print_figures(all, true);
  return 0;
}

}  // namespace weft::program
