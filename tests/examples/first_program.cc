// A first program: a small network learns to multiply two numbers. README.md shows this file.
#include <cmath>
#include <cstdio>

#include "weft/models/layers.h"
#include "weft/weft.h"

using namespace weft;

int main() {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", 2});  // "batch" is a symbol: any size
  const Scope net(g, "net");
  Value h = x;
  for (int i = 0; i < 2; ++i) h = gelu(linear(net / i, h, 64));
  const Value product = linear(net / "out", h, 1);
  const Value loss = mse(product, prod(x, {1}, true));
  const Program train =
      Program("train")
          .output("loss", loss)
          .update(adamw(loss, net.parameters(), {.lr = warmup_cosine(0.01, 50, 1000)}));
  const Program predict = Program("predict").output("product", product);

  Session session(g, {.seed = 1});
  for (unsigned step = 1; step <= 1000; ++step) {
    const Tensor batch = uniform_tensor({64, 2}, step, -1, 1);
    const float now = session.run(train, {{"x", batch}})["loss"].item<float>();
    if (step % 200 == 0) std::printf("step %4u  loss %.6f\n", step, now);
  }
  save_checkpoint("product.weft", session, {train, predict});  // optimizer state included

  const Checkpoint file = load_checkpoint("product.weft");  // needs none of the code above
  Session loaded(file.graph(), file.store());
  const Tensor point = Tensor::of<float>({1, 2}, {0.5f, 0.8f});
  const float answer = loaded.run(file.program("predict"), {{"x", point}})["product"].item<float>();
  std::printf("0.5 * 0.8 = %.3f\n", answer);
  return std::abs(answer - 0.4f) < 0.01f ? 0 : 1;
}
