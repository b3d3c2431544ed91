// weft_recurrent_bench: measures loops over time.
//
//   weft_recurrent_bench train [THREADS] [STEPS]
//       the time of a training step of a character-level LSTM with about as many parameters as
//       nanogpt-cpu
//   weft_recurrent_bench overhead
//       the time of a scan step with one small elementwise kernel, which is mostly overhead
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/core/error.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers/linear.h"
#include "weft/models/layers/recurrent.h"

using namespace weft;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

void train(int threads, int steps) {
  constexpr int kVocab = 65, kHidden = 300, kBatch = 12, kTime = 64;
  Graph g;
  const Scope net(g, "net");
  const Value tokens = g.input("tokens", DType::i32, {"batch", "time"});
  const Value targets = g.input("targets", DType::i32, {"batch", "time"});
  const Variable table =
      net.variable("table", DType::f32, {kVocab, kHidden}, {.initializer = Initializer::normal(1)});
  const RecurrentResult states = lstm(net / "lstm", embedding(tokens, table), kHidden);
  const Value loss = cross_entropy(linear(net / "head", states.output, kVocab), targets);
  const Program program =
      Program("train").output("loss", loss).update(adamw(loss, g.parameters(), {.lr = 1e-3}));
  std::int64_t parameters = 0;
  for (const Variable& v : g.parameters()) {
    std::int64_t n = 1;
    for (const Dim& d : v.shape()) n *= d.constant();
    parameters += n;
  }
  std::vector<std::int32_t> ids, next;
  for (int i = 0; i < kBatch * kTime; ++i) {
    ids.push_back(i * 7 % kVocab);
    next.push_back((i + 1) * 7 % kVocab);
  }
  const NamedTensors feeds = {{"tokens", Tensor::of<std::int32_t>({kBatch, kTime}, ids)},
                              {"targets", Tensor::of<std::int32_t>({kBatch, kTime}, next)}};
  Session session(g, {.seed = 1, .threads = threads});
  for (int i = 0; i < 3; ++i) session.run(program, feeds);
  const Clock::time_point begin = Clock::now();
  for (int i = 0; i < steps; ++i) session.run(program, feeds);
  fmt::print("{} parameters, {:.3f} ms per step\n", parameters, seconds_since(begin) / steps * 1e3);
}

void overhead() {
  constexpr std::int64_t kSteps = 100000;
  Graph g;
  const Value h = g.input("h", DType::f32, {8}), x = g.input("x", DType::f32, {"time", 8});
  const ScanResult loop = scan(g, {h}, {x}, {}, [](Graph&, const ScanElements& in) {
    const Value next = in.carries[0] * 0.5 + in.elements[0];
    return ScanStep{{next}, {next}};
  });
  const Program program = Program("loop").output("all", loop.outputs[0]);
  Session session(g, {.threads = 1});
  const NamedTensors feeds = {{"h", Tensor::full(DType::f32, {8}, 1)},
                              {"x", Tensor::full(DType::f32, {kSteps, 8}, 1)}};
  double best = 1e9;
  for (int i = 0; i < 10; ++i) {
    const Clock::time_point begin = Clock::now();
    session.run(program, feeds);
    best = std::min(best, seconds_since(begin));
  }
  fmt::print("{:.3f} us per scan step with one elementwise kernel over 8 elements\n",
             best / static_cast<double>(kSteps) * 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  try {
    if (what == "train") {
      const int steps = argc > 3 ? std::atoi(argv[3]) : 20;
      train(argc > 2 ? std::atoi(argv[2]) : 0, std::max(steps, 1));
    } else if (what == "overhead") {
      overhead();
    } else {
      fmt::print(stderr, "usage: weft_recurrent_bench train [THREADS] [STEPS] | overhead\n");
      return 2;
    }
  } catch (const Error& e) {
    fmt::print(stderr, "weft_recurrent_bench: {}\n", e.what());
    return 1;
  }
  return 0;
}
