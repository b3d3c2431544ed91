#include "weft/graph/functions/fake_quantize.h"
#include "weft/graph/functions/linalg/linalg.h"
#include "weft/models/program/bench/benches.h"
#include "weft/models/program/bench/machine.h"
#include "weft/models/program/bench/models.h"
#include "weft/models/program/bench/report.h"
#include "weft/models/program/limits/memory_guard.h"
#include "weft/models/program/terminal/console.h"

namespace weft::program {
namespace {

// Shapes of GPT-2 small and BERT-base, and shapes with few rows.
constexpr GemmShape kIntegerShapes[] = {{1024, 1024, 1024}, {256, 2304, 768}, {256, 768, 768},
                                        {256, 3072, 768},   {256, 768, 3072}, {1024, 768, 768},
                                        {1024, 3072, 768},  {16, 3072, 768},  {1, 3072, 768}};

/// Returns pseudo-random numbers in [-1, 1).
Tensor integer_operand(const Sizes& sizes) {
  const Tensor ids = bench_ids(sizes, 1 << 16, 7);
  Tensor t = Tensor::empty(DType::f32, sizes);
  for (std::int64_t i = 0; i < t.numel(); ++i)
    t.mutable_data<float>()[i] = static_cast<float>(ids.data<std::int32_t>()[i]) * 0x1p-15F - 1;
  return t;
}

Figures measure_integer_shape(const IntegerBench& bench, const GemmShape& s) {
  const auto m = static_cast<double>(s.m), n = static_cast<double>(s.n),
             k = static_cast<double>(s.k);
  check_memory("this product", sizeof(float) * (m * k + k * n + m * n), "reduce --m, --n or --k");
  Graph graph;
  const auto store = std::make_shared<VariableStore>();
  const Value a = graph.input("a", DType::f32, {s.m, s.k});
  Program product("product");
  product.output("c", matmul(a, graph.variable("w", DType::f32, {s.k, s.n})));
  store->insert("w", VariableKind::parameter, integer_operand({s.k, s.n}));
  const QuantizedModel model = quantize(
      {product}, *store, {.weights = bench.weights, .activations = ActivationFormat::int8});
  Session session(*model.graph, model.store, bench.common.session());
  const NamedTensors feeds = {{"a", integer_operand({s.m, s.k})}};
  const RunOptions into{.into = {{"c", Tensor::empty(DType::f32, {s.m, s.n})}}};
  const int threads = bench.common.thread_count();
  const int runs = bench.common.runs > 0 ? bench.common.runs : 20;
  const double before = integer_peak(threads);
  const Times times = measure(3, runs, [&] { session.run(model.programs.front(), feeds, into); });
  const double peak = (before + integer_peak(threads)) / 2;
  const double rate = m * n * k / times.median();
  return {{"m", s.m},
          {"n", s.n},
          {"k", s.k},
          {"seconds", times.median()},
          {"best_seconds", times.best()},
          {"products_per_second", rate},
          {"peak_products_per_second", peak},
          {"fraction_of_peak", rate / peak}};
}

}  // namespace

int bench_integer(const IntegerBench& bench) {
  Figures all = {{"benchmark", "integer"},
                 {"weights", weight_format_name(bench.weights)},
                 {"threads", bench.common.thread_count()},
                 {"shapes", Figures::array()}};
  std::vector<GemmShape> shapes = bench.shapes;
  if (shapes.empty()) shapes.assign(std::begin(kIntegerShapes), std::end(kIntegerShapes));
  if (!bench.common.json) {
    say("{} weights, {} threads\n{:>6} {:>6} {:>6} {:>12} {:>11} {:>8}\n",
        weight_format_name(bench.weights), bench.common.thread_count(), "m", "n", "k",
        "microseconds", "Gproducts/s", "of peak");
  }
  for (const GemmShape& shape : shapes) {
    const Figures f = measure_integer_shape(bench, shape);
    if (!bench.common.json) {
      say("{:>6} {:>6} {:>6} {:>12.1f} {:>11.1f} {:>8.2f}\n", shape.m, shape.n, shape.k,
          f["seconds"].get<double>() * 1e6, f["products_per_second"].get<double>() / 1e9,
          f["fraction_of_peak"].get<double>());
      flush_stdout();
    }
    all["shapes"].push_back(f);
  }
  if (bench.common.json) print_figures(all, true);
  return 0;
}

}  // namespace weft::program
