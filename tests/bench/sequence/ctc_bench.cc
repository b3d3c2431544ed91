// weft_ctc_bench: the time of the CTC loss and its gradient with respect to the logits.
//
//   weft_ctc_bench TIME BATCH LABELS CLASSES THREADS [STEPS]
//
// peers/ctc.py runs it in alternation with PyTorch.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "weft/autodiff/gradients.h"
#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/graph/functions/sequence/ctc.h"
#include "weft/graph/run/session.h"

using namespace weft;

namespace {

void measure(std::int64_t time, std::int64_t batch, std::int64_t labels, std::int64_t classes,
             int threads, int steps) {
  Graph g;
  const Value logits = g.input("logits", DType::f32, {batch, time, classes});
  const Value targets = g.input("targets", DType::i64, {batch, labels});
  const Value input_lengths = g.input("input_lengths", DType::i64, {batch});
  const Value target_lengths = g.input("target_lengths", DType::i64, {batch});
  const Value loss = ctc_loss(logits, targets, input_lengths, target_lengths);
  const Program program =
      Program("ctc").output("loss", loss).output("gradient", gradient(loss, logits));
  std::vector<float> x;
  for (std::int64_t i = 0; i < batch * time * classes; ++i) {
    x.push_back(static_cast<float>(i * 7919 % 1000) / 250);
  }
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < batch * labels; ++i) ids.push_back(i * 31 % (classes - 1) + 1);
  const auto rows = [&](std::int64_t length) {
    return Tensor::of<std::int64_t>(
        {batch}, std::vector<std::int64_t>(static_cast<std::size_t>(batch), length));
  };
  const NamedTensors feeds = {{"logits", Tensor::of<float>({batch, time, classes}, x)},
                              {"targets", Tensor::of<std::int64_t>({batch, labels}, ids)},
                              {"input_lengths", rows(time)},
                              {"target_lengths", rows(labels)}};
  Session session(g, {.seed = 1, .threads = threads});
  const Results first = session.run(program, feeds);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < steps; ++i) session.run(program, feeds);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  fmt::print("loss {:.4f}, {:.3f} ms per step\n", first["loss"].item<float>(),
             taken.count() / steps * 1e3);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) {
    fmt::print(stderr, "usage: weft_ctc_bench TIME BATCH LABELS CLASSES THREADS [STEPS]\n");
    return 2;
  }
  try {
    measure(std::atoll(argv[1]), std::atoll(argv[2]), std::atoll(argv[3]), std::atoll(argv[4]),
            std::atoi(argv[5]), argc > 6 ? std::max(std::atoi(argv[6]), 1) : 5);
  } catch (const Error& e) {
    fmt::print(stderr, "weft_ctc_bench: {}\n", e.what());
    return 1;
  }
  return 0;
}
