// A generative adversarial network (Goodfellow et al. 2014) in one graph with two losses, two
// optimizers and two programs. The generator learns to generate points on a ring. It is evaluated
// with averaged weights.
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers.h"

using namespace weft;

constexpr int kNoise = 4, kBatch = 128;

/// Maps noise [n, kNoise] to points [n, 2].
Value generate(const Scope& net, Value noise) {
  Value h = noise;
  for (const int i : {0, 1}) h = silu(linear(net / i, h, 64));
  return linear(net / "out", h, 2);
}

/// Maps points [n, 2] to logits [n, 1] of being real.
Value discriminate(const Scope& net, Value points) {
  Value h = points;
  for (const int i : {0, 1}) h = silu(linear(net / i, h, 64));
  return linear(net / "out", h, 1);
}

NamedTensors make_batch(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> angle(0, 6.2831853f);
  std::vector<float> noise, points;
  for (int i = 0; i < kBatch * kNoise; ++i) noise.push_back(normal(random));
  for (int i = 0; i < kBatch; ++i) {
    const float a = angle(random), r = 1 + 0.05f * normal(random);
    points.insert(points.end(), {r * std::cos(a), r * std::sin(a)});
  }
  return {{"noise", Tensor::of<float>({kBatch, kNoise}, noise)},
          {"real", Tensor::of<float>({kBatch, 2}, points)}};
}

int main() {
  Graph g;
  const Value noise = g.input("noise", DType::f32, {"n", kNoise});
  const Value real = g.input("real", DType::f32, {"n", 2});
  const Scope generator(g, "generator"), discriminator(g, "discriminator");
  const Value fake = generate(generator, noise);
  // The discriminator is applied twice, with the same weights.
  const Value on_fake = discriminate(discriminator.training(), fake);
  const Value on_real = discriminate(discriminator.training(), real);
  const Value d_loss = mean(softplus(on_fake)) + mean(softplus(-on_real));
  const Value g_loss = mean(softplus(-on_fake));

  Program train_d("discriminator"), train_g("generator"), draw("draw");
  train_d.output("loss", d_loss)
      .update(adam(d_loss, discriminator.parameters(), {.lr = 1e-3, .beta1 = 0.5}));
  const TrainingStep step = adam(g_loss, generator.parameters(), {.lr = 5e-4, .beta1 = 0.5});
  train_g.output("loss", g_loss)
      .update(step)
      .update(Ema(generator.parameters(), {.decay = 0.99}).updates(step));
  draw.output("points", fake);

  Session session(g, {.seed = 1});
  for (unsigned i = 1; i <= 1500; ++i) {
    const float d = session.run(train_d, make_batch(2 * i))["loss"].item<float>();
    const float l = session.run(train_g, make_batch(2 * i + 1))["loss"].item<float>();
    if (i % 500 == 0) std::printf("step %4u  discriminator %.3f  generator %.3f\n", i, d, l);
  }

  Session averaged(g, averaged_store(*session.store()));
  const Tensor points = averaged.run(draw, {make_batch(0)[0]})["points"];
  double error = 0;
  for (int i = 0; i < kBatch; ++i)
    error += std::abs(std::hypot(points.at(2 * i), points.at(2 * i + 1)) - 1) / kBatch;
  std::printf("mean distance from the ring: %.3f\n", error);
  return error < 0.25 ? 0 : 1;
}
