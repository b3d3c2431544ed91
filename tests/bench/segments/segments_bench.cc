// weft_segments_bench: the time of segment functions and of cross_entropy with soft labels.
// tests/bench/peers/segments.py runs it in alternation with PyTorch.
//
//   weft_segments_bench ROWS WIDTH SEGMENTS THREADS
//       reads names of functions from the standard input and answers each with milliseconds
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>

#include "weft/autodiff/gradients.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"

using namespace weft;

namespace {

std::map<std::string, Program> programs(Graph& g, std::int64_t n, std::int64_t width,
                                        std::int64_t segments) {
  const Value x = g.input("x", DType::f32, {n, width}), ids = g.input("ids", DType::i64, {n});
  const Value by_row = g.input("by_row", DType::f32, {n, width});
  const Value by_segment = g.input("by_segment", DType::f32, {segments, width});
  const Value logits = g.input("logits", DType::f32, {4096, 1000});
  const Value targets = g.input("targets", DType::f32, {4096, 1000});
  std::map<std::string, Program> all;
  const auto add = [&](const std::string& name, Value y) {
    all.emplace(name, Program(name).output("y", y));
  };
  const Value largest = segment_max(x, ids, segments), shares = segment_softmax(x, ids, segments);
  add("sum", segment_sum(x, ids, segments));
  add("mean", segment_mean(x, ids, segments));
  add("max", largest);
  add("max gradient", gradient(sum(largest * by_segment), x));
  add("softmax", shares);
  add("softmax gradient", gradient(sum(shares * by_row), x));
  add("soft cross_entropy gradient",
      gradient(cross_entropy(logits, targets, {.label_smoothing = 0.1}), logits));
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    fmt::print(stderr, "usage: weft_segments_bench ROWS WIDTH SEGMENTS THREADS\n");
    return 2;
  }
  const std::int64_t n = std::atoll(argv[1]), width = std::atoll(argv[2]);
  const std::int64_t segments = std::atoll(argv[3]);
  Graph g;
  const std::map<std::string, Program> all = programs(g, n, width, segments);
  const std::map<std::string, Tensor> data = {
      {"x", normal_tensor({n, width}, 1)},
      {"ids", integer_tensor({n}, 2, 0, segments, DType::i64)},
      {"by_row", normal_tensor({n, width}, 3)},
      {"by_segment", normal_tensor({segments, width}, 4)},
      {"logits", normal_tensor({4096, 1000}, 5)},
      {"targets", uniform_tensor({4096, 1000}, 6, 0, 1)}};
  Session session(g, {.threads = std::atoi(argv[4])});
  for (std::string name; std::getline(std::cin, name);) {
    const Program& program = all.at(name);
    NamedTensors feeds;
    for (const auto& [input, tensor] : data) {
      for (const Value& used : program.inputs()) {
        if (used == g.find_input(input)) feeds.emplace_back(input, tensor);
      }
    }
    const auto begin = std::chrono::steady_clock::now();
    session.run(program, feeds);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    fmt::print("{:.3f}\n", time.count());
    std::fflush(stdout);
  }
}
