// Benchmarks of grouped products, compared with one dense product of the same number of rows.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "weft/tests/bench/families.h"
#include "weft/tests/bench/prepared_op.h"

namespace weft::bench {
namespace {

struct GroupedCase {
  std::int64_t rows, k, m, groups;
  bool even;  // otherwise, half of the rows are in the first group
};
// Training and prefill with many and few rows per expert, uneven groups, and decoding.
constexpr GroupedCase kGroupedCases[] = {
    {4096, 1024, 1024, 8, true}, {4096, 512, 512, 16, true},   {4096, 256, 1024, 64, true},
    {2048, 512, 1024, 16, true}, {1024, 256, 256, 8, true},    {1024, 1024, 256, 64, true},
    {4096, 512, 512, 16, false}, {1024, 1024, 1024, 64, true}, {64, 512, 1024, 8, true},
    {8, 1024, 1024, 8, true},    {8, 256, 256, 64, true},
};

Tensor group_sizes(const GroupedCase& c) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(c.groups));
  std::int64_t left = c.rows;
  if (!c.even) left -= sizes[0] = c.rows / 2;
  for (std::int64_t e = c.even ? 0 : 1; e < c.groups; ++e) {
    sizes[static_cast<std::size_t>(e)] = left / (c.groups - e);
    left -= left / (c.groups - e);
  }
  return Tensor::of({c.groups}, sizes);
}

double now() {
  using Clock = std::chrono::steady_clock;
  return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

double middle(std::vector<double> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// Alternates between the grouped product and the dense product.
void measure_pair(benchmark::State& state, PreparedOp& grouped, PreparedOp& dense) {
  grouped.run();  // warm-up, which also touches all memory
  dense.run();
  std::vector<double> ours, theirs;
  for (auto _ : state) {
    double start = now();
    grouped.run();
    ours.push_back(now() - start);
    state.SetIterationTime(ours.back());
    start = now();
    dense.run();
    theirs.push_back(now() - start);
  }
  report(state, grouped.cost());
  state.counters["vs_dense"] = middle(theirs) / middle(ours);
}

void measure_product(benchmark::State& state, const GroupedCase& c, Precision precision,
                     int threads, bool constant) {
  const Tensor x = random_tensor({c.rows, c.k});
  PreparedOp grouped("grouped_matmul", {x, random_tensor({c.groups, c.k, c.m}), group_sizes(c)}, {},
                     threads, precision, constant ? 1 : -1);
  PreparedOp dense("matmul", {x, random_tensor({c.k, c.m})}, {}, threads, precision,
                   constant ? 1 : -1);
  measure_pair(state, grouped, dense);
}

void measure_outer(benchmark::State& state, const GroupedCase& c, Precision precision,
                   int threads) {
  const Tensor a = random_tensor({c.rows, c.k}), b = random_tensor({c.rows, c.m});
  PreparedOp grouped("grouped_outer", {a, b, group_sizes(c)}, {}, threads, precision);
  PreparedOp dense("matmul", {a, b}, {{"transpose_a", true}}, threads, precision);
  measure_pair(state, grouped, dense);
}

}  // namespace

void add_grouped_benchmarks() {
  for (const int threads : thread_counts()) {
    for (const GroupedCase& c : kGroupedCases) {
      for (const Precision precision : {Precision::highest, Precision::medium}) {
        const std::string name =
            fmt::format("{}x{}x{}/groups:{}{}/{}/threads:{}", c.rows, c.k, c.m, c.groups,
                        c.even ? "" : "_uneven", precision_name(precision), threads);
        const auto add = [&](const std::string& kind, const auto& body) {
          benchmark::RegisterBenchmark((kind + "/" + name).c_str(), body)
              ->UseManualTime()
              ->Unit(benchmark::kMicrosecond);
        };
        for (const bool constant : {false, true}) {
          add(constant ? "grouped_constant" : "grouped", [=](benchmark::State& state) {
            measure_product(state, c, precision, threads, constant);
          });
        }
        if (c.rows >= 1024) {
          add("grouped_outer",
              [=](benchmark::State& state) { measure_outer(state, c, precision, threads); });
        }
      }
    }
  }
}

}  // namespace weft::bench
