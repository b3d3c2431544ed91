// Fits z = sin(3x) * y with a small network that has a custom activation and a custom loss.
#include <cmath>
#include <cstdio>

#include "weft/weft.h"

using namespace weft;

Value dense(const Scope& at, Value x, int in, int out) {
  const Initializer start = Initializer::glorot_uniform(in, out);
  Variable weight = at.variable("weight", DType::f32, {in, out}, {.initializer = start});
  Variable bias = at.variable("bias", DType::f32, {out});
  return matmul(x, weight) + bias;
}
Value snake(Value x) { return x + 0.5 * square(sin(x)); }
Value log_cosh(Value error) { return mean(error + softplus(-2.0 * error)) - std::log(2.0); }

int main() {
  Graph g;
  Value x = g.input("x", DType::f32, {"batch", 2});
  Value z = g.input("z", DType::f32, {"batch", 1});
  Scope net(g, "net");
  Value hidden = snake(dense(net / "hidden", x, 2, 32));
  Value guess = dense(net / "out", snake(dense(net / "middle", hidden, 32, 32)), 32, 1);
  Value loss = log_cosh(guess - z);

  Program train("train");
  train.output("loss", loss)
      .update(adamw(loss, g.parameters(), {.lr = warmup_cosine(0.02, 20, 400)}));
  Program predict("predict");
  predict.output("z", guess);

  Tensor points = Tensor::empty(DType::f32, {400, 2}), values = Tensor::empty(DType::f32, {400, 1});
  for (int i = 0; i < 400; ++i) {
    const float a = float(i % 20) / 10 - 1, b = float(i / 20) / 10 - 1;
    points.mutable_data<float>()[2 * i] = a;
    points.mutable_data<float>()[2 * i + 1] = b;
    values.mutable_data<float>()[i] = std::sin(3 * a) * b;
  }
  Session session(g, {.seed = 1});
  for (int step = 0; step <= 400; ++step) {
    const float now = session.run(train, {{"x", points}, {"z", values}})["loss"].item<float>();
    if (step % 100 == 0) std::printf("step %3d  loss %.6f\n", step, now);
  }
  save_checkpoint("custom_layers.weft", session, {train, predict});

  const Checkpoint file = load_checkpoint("custom_layers.weft");  // needs none of the code above
  Session loaded(file.graph(), file.store());
  const Tensor point = Tensor::of<float>({1, 2}, {0.5f, 0.5f});
  const float answer = loaded.run(file.program("predict"), {{"x", point}})["z"].item<float>();
  std::printf("sin(1.5) / 2 is %.4f, the network computes %.4f\n", std::sin(1.5f) / 2, answer);
  return std::abs(answer - std::sin(1.5f) / 2) < 0.05f ? 0 : 1;
}
