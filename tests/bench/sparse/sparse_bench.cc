// weft_sparse_bench [THREADS]: measures training steps that read 1,024 rows of 64 elements from a
// matrix, for different numbers of rows. The matrix is either listed in StepOptions::sparse or not.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <utility>
#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"

using namespace weft;

namespace {

using Clock = std::chrono::steady_clock;
using Build = std::function<TrainingStep(Value loss, Variable table, const StepOptions& step)>;
constexpr std::int64_t kRead = 1024, kWidth = 64;

// Returns the time of the fastest step in milliseconds and the bytes of its plan's arena, which
// does not include the variables.
std::pair<double, std::size_t> measure(const Build& build, std::int64_t count, bool sparse,
                                       int threads) {
  Graph g;
  const Variable table =
      g.variable("table", DType::f32, {count, kWidth}, {.initializer = Initializer::zeros()});
  const Value ids = g.input("ids", DType::i64, {kRead});
  const Value loss = mean(square(embedding(ids, table) - 1.0));
  StepOptions step{.clip_norm = 1};
  if (sparse) step.sparse = {"table"};
  const Program train = Program("train").update(build(loss, table, step));
  Session session(g, {.threads = threads});
  const auto feeds = [&](std::int64_t s) {
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < kRead; ++i) rows.push_back((s * kRead + i) * 7919 % count);
    return NamedTensors{{"ids", Tensor::of<std::int64_t>({kRead}, rows)}};
  };
  const int steps = sparse ? 100 : 6;
  double best = 1e9;
  for (int s = 0; s < steps; ++s) {
    const NamedTensors now = feeds(s);
    const Clock::time_point begin = Clock::now();
    session.run(train, now);
    best = std::min(best, std::chrono::duration<double, std::milli>(Clock::now() - begin).count());
  }
  return {best, session.plan(train, {{"ids", Sizes{kRead}}})->memory().arena};
}

void compare(const char* name, const Build& build, int threads) {
  for (const std::int64_t count : {1'000, 10'000, 100'000, 1'000'000}) {
    const auto [sparse_ms, sparse_bytes] = measure(build, count, true, threads);
    const auto [dense_ms, dense_bytes] = measure(build, count, false, threads);
    fmt::print("{:8} {:9} rows  sparse {:8.3f} ms {:8.2f} MiB  dense {:8.3f} ms {:8.2f} MiB\n",
               name, count, sparse_ms, static_cast<double>(sparse_bytes) / (1 << 20), dense_ms,
               static_cast<double>(dense_bytes) / (1 << 20));
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 0;
  try {
    const SourceLocation loc = SourceLocation::current();
    compare(
        "sgd",
        [&](Value loss, Variable table, const StepOptions& step) {
          return sgd(loss, {table}, {.step = step}, loc);
        },
        threads);
    compare(
        "adagrad",
        [&](Value loss, Variable table, const StepOptions& step) {
          return adagrad(loss, {table}, {.step = step}, loc);
        },
        threads);
    compare(
        "adamw",
        [&](Value loss, Variable table, const StepOptions& step) {
          return adamw(loss, {table}, {.step = step}, loc);
        },
        threads);
  } catch (const Error& e) {
    fmt::print(stderr, "weft_sparse_bench: {}\n", e.what());
    return 1;
  }
  return 0;
}
