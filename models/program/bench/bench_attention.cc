// Benchmark of causal attention (forward and backward) on long sequences.
#include "weft/autodiff/gradients.h"
#include "weft/core/random.h"
#include "weft/graph/functions/arithmetic.h"
#include "weft/graph/functions/attention.h"
#include "weft/graph/functions/math.h"
#include "weft/graph/functions/reduce.h"
#include "weft/models/program/bench/benches.h"
#include "weft/models/program/bench/machine.h"
#include "weft/models/program/bench/report.h"
#include "weft/models/program/limits/memory_guard.h"
#include "weft/ops/op.h"

namespace weft::program {
namespace {

Tensor random_tensor(const Sizes& sizes, std::uint64_t seed) {
  Tensor result = Tensor::empty(DType::f32, sizes);
  const RandomStream random{.seed = seed};
  for (std::int64_t i = 0; i < result.numel(); ++i) {
    result.mutable_data<float>()[i] =
        static_cast<float>(random.word(static_cast<std::uint64_t>(i))) * 0x1p-31F - 1;
  }
  return result;
}

/// Measures the attention of one token over cached keys and values.
int bench_cached_attention(const AttentionBench& bench) {
  const std::int64_t rows = bench.batch, heads = bench.heads, seq = bench.seq, size = bench.size;
  constexpr double kTensors = 4;  // keys and values, and their f32 originals
  check_memory("attention of this size",
               kTensors * sizeof(float) * static_cast<double>(rows) * static_cast<double>(heads) *
                   static_cast<double>(seq) * static_cast<double>(size),
               "reduce --batch, --heads, --seq or --size");
  Graph graph;
  NamedTensors feeds = {{"q", random_tensor({rows, heads, 1, size}, 1)}};
  const Value q = graph.input("q", DType::f32, {rows, heads, 1, size});
  double bytes = 0;
  const auto cache = [&](const char* name, std::uint64_t seed) -> Value {
    Tensor stored = random_tensor({rows, heads, seq, size}, seed);
    if (*bench.caches == CacheFormat::bf16) stored = stored.to(DType::bf16);
    if (*bench.caches == CacheFormat::int8)
      stored = evaluate_op(graph.ops().at("pack_int8_rows"), {stored}, {})[0];
    const Value input = graph.input(name, ValueType{stored.dtype(), Shape(stored.sizes())});
    bytes += static_cast<double>(stored.bytes());
    feeds.emplace_back(name, std::move(stored));
    if (*bench.caches == CacheFormat::f32) return input;
    if (*bench.caches == CacheFormat::bf16) return cast(input, DType::f32);
    return graph.apply("unpack_int8_rows", {input}, {}, {}).output(0);
  };
  const Value k = cache("k", 2), v = cache("v", 3);
  const Program program = Program("attention").output("out", attention(q, k, v));
  Session session(graph, bench.common.session());
  const Times times = measure(3, bench.common.runs > 0 ? bench.common.runs : 50,
                              [&] { session.run(program, feeds); });
  print_figures({{"benchmark", "attention"},
                 {"batch", rows},
                 {"heads", heads},
                 {"size", size},
                 {"seq", seq},
                 {"caches", cache_format_name(*bench.caches)},
                 {"precision", precision_name(bench.common.precision)},
                 {"threads", bench.common.thread_count()},
                 {"seconds_per_step", times.median()},
                 {"best_seconds_per_step", times.best()},
                 {"cache_bytes", bytes},
                 {"bytes_per_second", bytes / times.median()},
                 {"peak_rss_bytes", peak_rss_bytes()}},
                bench.common.json);
  return 0;
}

}  // namespace

int bench_attention(const AttentionBench& bench) {
  if (bench.caches) return bench_cached_attention(bench);
  const std::int64_t rows = bench.batch, heads = bench.heads, seq = bench.seq, size = bench.size;
  constexpr double kTensors = 8;  // q, k, v, the output, and their gradients
  check_memory("attention of this size",
               kTensors * sizeof(float) * static_cast<double>(rows) * static_cast<double>(heads) *
                   static_cast<double>(seq) * static_cast<double>(size),
               "reduce --batch, --heads, --seq or --size");
  Graph graph;
  Program program("attention");
  NamedTensors feeds;
  std::vector<Value> inputs;
  NamedSizes sizes;
  for (const char* name : {"q", "k", "v", "cotangent"}) {
    const Value input = graph.input(name, DType::f32, {rows, heads, seq, size});
    inputs.push_back(input);
    feeds.emplace_back(name, random_tensor({rows, heads, seq, size}, inputs.size()));
    sizes.emplace_back(name, Sizes{rows, heads, seq, size});
  }
  const Value out = attention(inputs[0], inputs[1], inputs[2], {.causal = true});
  program.output("out", out);
  const auto d = gradients(sum(out * inputs[3]), {inputs[0], inputs[1], inputs[2]});
  program.output("dq", d[0]).output("dk", d[1]).output("dv", d[2]);

  Session session(graph, bench.common.session());
  const auto plan = session.plan(program, sizes);
  const int threads = bench.common.thread_count();
  const double peak_before = fma_peak(threads);
  const Times times = measure(1, bench.common.runs > 0 ? bench.common.runs : 5,
                              [&] { session.run(program, feeds); });
  const double peak = (peak_before + fma_peak(threads)) / 2;
  // There are two matrix products in the forward pass and five in the backward pass, which
  // recomputes the scores. Half of each product is masked.
  const auto pairs = static_cast<double>(rows * heads * seq) * static_cast<double>(seq + 1) / 2;
  const double flop = 7 * 2 * pairs * static_cast<double>(size), seconds = times.median();
  const MemoryReport memory = plan->memory();
  print_figures({{"benchmark", "attention"},
                 {"batch", rows},
                 {"heads", heads},
                 {"size", size},
                 {"seq", seq},
                 {"precision", precision_name(bench.common.precision)},
                 {"threads", threads},
                 {"seconds_per_step", seconds},
                 {"best_seconds_per_step", times.best()},
                 {"flops", flop},
                 {"flops_per_second", flop / seconds},
                 {"peak_flops_per_second", peak},
                 {"fraction_of_peak", flop / seconds / peak},
                 {"planned_bytes", memory.arena + memory.outputs},
                 {"peak_rss_bytes", peak_rss_bytes()}},
                bench.common.json);
  return 0;
}

}  // namespace weft::program
