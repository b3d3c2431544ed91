// Logistic regression learns on which side of a line a point is, from examples of which some have
// wrong labels. The data is fed as tensors, and a separate program evaluates the held-out set.
#include <cstdio>
#include <random>
#include <vector>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers.h"

using namespace weft;

struct Points {
  Tensor x, label;  // f32 [n, 2], f32 [n]
};

/// Returns points in a square with label 1 if 2 x0 - x1 > 0.3; one label in twenty is wrong.
Points make_points(int n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> place(-1, 1), chance(0, 1);
  std::vector<float> x, label;
  for (int i = 0; i < n; ++i) {
    const float a = place(random), b = place(random);
    const bool above = 2 * a - b > 0.3f;
    x.insert(x.end(), {a, b});
    label.push_back(above != (chance(random) < 0.05f) ? 1.0f : 0.0f);
  }
  return {Tensor::of<float>({n, 2}, x), Tensor::of<float>({n}, label)};
}

int main() {
  Graph g;
  const Value x = g.input("x", DType::f32, {"n", 2});
  const Value label = g.input("label", DType::f32, {"n"});
  const Value logit = squeeze(linear(Scope(g, "line"), x, 1), {1});
  const Value loss = bce_with_logits(logit, label);
  const Value right = equal(greater(logit, 0), greater(label, 0.5));

  Program train("train");
  train.output("loss", loss).update(sgd(loss, g.parameters(), {.lr = 0.5, .momentum = 0.9}));
  Program test("test");
  test.output("loss", loss).output("accuracy", mean(cast(right, DType::f32)));

  const Points known = make_points(2000, 1), held_out = make_points(1000, 2);
  Session session(g, {.seed = 1});
  for (int step = 1; step <= 300; ++step) {
    const Results now = session.run(train, {{"x", known.x}, {"label", known.label}});
    if (step % 100 == 0) std::printf("step %3d  loss %.4f\n", step, now["loss"].item<float>());
  }
  const Results result = session.run(test, {{"x", held_out.x}, {"label", held_out.label}});
  const float accuracy = result["accuracy"].item<float>();
  const Tensor weight = session.value("line.weight"), bias = session.value("line.bias");
  std::printf("accuracy on held-out points %.1f%%; 95%% of their labels are correct\n",
              100 * accuracy);
  std::printf("learned: %.2f x0 %+.2f x1 > %.2f; true: 2 x0 - 1 x1 > 0.3\n", 2.0,
              2 * weight.at(1) / weight.at(0), -2 * bias.at(0) / weight.at(0));
  return accuracy > 0.93f ? 0 : 1;
}
