// weft_bench: kernel benchmarks at shapes that occur in transformers.
#include <benchmark/benchmark.h>

#include "weft/tests/bench/families.h"

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  weft::bench::add_matmul_benchmarks();
  weft::bench::add_grouped_benchmarks();
  weft::bench::add_weights_benchmarks();
  weft::bench::add_precision_benchmarks();
  weft::bench::add_elementwise_benchmarks();
  weft::bench::add_fused_benchmarks();
  weft::bench::add_network_benchmarks();
  weft::bench::add_workers_benchmarks();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
