// A denoising diffusion model (DDPM, Ho et al. 2020) for points on two circles. The network
// predicts the noise that was added to a point. The training program draws the time steps and the
// noise. The sampling program runs all denoising steps in the graph, in one scan. The body of the
// scan calls the layers of the network and draws new noise in every step.
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/control/scan.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers.h"

using namespace weft;

constexpr int kSteps = 60;

/// Returns points f32 [n, 2] on two circles of radius 0.5 around (-1, 0) and (1, 0).
Tensor make_points(int n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> angle(0, 6.2831853f);
  std::vector<float> points;
  for (int i = 0; i < n; ++i) {
    const float a = angle(random), side = i % 2 == 0 ? -1.0f : 1.0f;
    points.push_back(side + 0.5f * std::cos(a));
    points.push_back(0.5f * std::sin(a));
  }
  return Tensor::of<float>({n, 2}, points);
}

/// Predicts the noise in x [n, 2] after t [n] steps.
Value predict_noise(const Scope& net, Value x, Value t) {
  Value h = linear(net / "in", x, 96);
  for (int block = 0; block < 3; ++block) {
    const Scope at = net / "block" / block;
    const Value time = embedding(at / "time", t, {.vocab = kSteps, .width = 96});
    h = h +
        linear(at / "out", silu(linear(at / "hidden", layer_norm(at / "norm", h) + time, 96)), 96);
  }
  return linear(net / "out", silu(h), 2);
}

int main() {
  Graph g;
  const Scope net(g, "net");

  // beta[t] is the variance of the noise of step t, and kept[t] the share of the data that is left
  // after it.
  std::vector<float> variances;
  for (int t = 0; t < kSteps; ++t)
    variances.push_back(1e-3f + 0.15f * static_cast<float>(t) / kSteps);
  const Value beta = g.constant(Tensor::of<float>({kSteps}, variances));
  const Value kept = exp(cumsum(log(1 - beta), 0));

  const Value data = g.input("data", DType::f32, {"batch", 2});
  const Value t = cast(uniform(g.key("time"), {data.shape()[0]}) * kSteps, DType::i64);
  const Value noise = normal(g.key("noise"), data.shape());
  const Value share = unsqueeze(take(kept, t), 1);
  const Value noisy = data * sqrt(share) + noise * sqrt(1 - share);
  const Value loss = mean(square(predict_noise(net.training(), noisy, t) - noise));
  Program train("train");
  train.output("loss", loss).update(adamw(loss, net.parameters(), {.lr = 2e-3}));

  // Starts from noise and removes it step by step, from t = kSteps - 1 to 0.
  const Value start = normal(g.key("start"), {g.dim("points"), 2});
  const Scope trained = net.evaluation();
  const auto denoise = [&](Graph&, const ScanElements& in) {
    const Value x = in.carries[0], step = in.index;
    const Value b = take(beta, step);
    const Value predicted = predict_noise(trained, x, broadcast_to(step, {x.shape()[0]}));
    const Value mean = (x - predicted * b / sqrt(1 - take(kept, step))) / sqrt(1 - b);
    const Value fresh = normal(g.key("sample"), x.shape()) * sqrt(b);
    return ScanStep{.carries = {where(step > 0, mean + fresh, mean)}};
  };
  const Value points =
      scan(g, {start}, {}, {}, denoise, {.reverse = true, .length = kSteps}).carries[0];
  const Program sample = Program("sample").output("points", points);

  Session session(g, {.seed = 1});
  for (unsigned step = 1; step <= 2000; ++step) {
    const Results now = session.run(train, {{"data", make_points(256, step)}});
    if (step % 500 == 0) std::printf("step %4u  loss %.3f\n", step, now["loss"].item<float>());
  }
  const int count = 1000;
  const Tensor found = session.run(sample, {}, {.dims = {{"points", count}}})["points"];
  double distance = 0, left = 0;
  for (int i = 0; i < count; ++i) {
    const double x = found.at(2 * i), y = found.at(2 * i + 1), side = x < 0 ? -1 : 1;
    distance += std::abs(std::hypot(x - side, y) - 0.5) / count;
    left += (x < 0 ? 1.0 : 0.0) / count;
  }
  std::printf("mean distance from the circles %.3f, left circle %.0f%%\n", distance, 100 * left);
  return distance < 0.1 && std::abs(left - 0.5) < 0.1 ? 0 : 1;
}
