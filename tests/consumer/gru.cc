// A custom recurrent cell: a minimal gated unit (Zhou et al. 2016), trained to remember the first
// number of a sequence.
#include <cmath>
#include <cstdio>
#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/ir/scope.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers.h"

using namespace weft;

int main() {
  Graph g;
  const Scope net(g, "net");
  const Value x = g.input("x", DType::f32, {"time", "batch", 1});
  const Initializer start = Initializer::normal(0.3);
  const Variable w = net.variable("w", DType::f32, {17, 32}, {.initializer = start});
  const Value h0 = zeros(g, DType::f32, {g.dim("batch"), 16});
  const auto loop = scan(g, {h0}, {x}, {w}, [](Graph&, const ScanElements& in) {
    const Value h = in.carries[0];
    const auto gates = split_equal(matmul(concat({in.elements[0], h}, 1), in.operands[0]), 2, 1);
    const Value forget = sigmoid(gates[0]);
    return ScanStep{{h + forget * (tanh(gates[1]) - h)}};
  });
  const Value error = linear(net / "out", loop.carries[0], 1) - select(x, 0, 0);
  const Value loss = mean(error * error);
  const Program train =
      Program("train").output("loss", loss).update(adamw(loss, g.parameters(), {.lr = 0.01}));
  Session session(g, {.seed = 1});
  float last = 0;
  for (int step = 0; step < 400; ++step) {
    std::vector<float> batch;
    for (int i = 0; i < 12 * 32; ++i) batch.push_back(std::sin(7.1f * float(i + 384 * step)));
    last = session.run(train, {{"x", Tensor::of<float>({12, 32, 1}, batch)}})["loss"].item<float>();
  }
  std::printf("loss %.4f\n", last);
  return last < 0.1f ? 0 : 1;
}
