// A physics-informed fit (Raissi et al. 2019) of a damped oscillator u'' + d u' + k u = 0. The
// damping d and the stiffness k are unknown, and twenty noisy values of u are given. The network
// must fit these values and satisfy the equation between them; d and k are trained together with
// the network. Time derivatives are nodes of the graph, which are differentiated again for
// training.
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "weft/autodiff/gradients.h"
#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers.h"

using namespace weft;

/// Maps t to u(t), both f32 [n, 1].
struct Network {
  Linear first, second, out;
  explicit Network(const Scope& at)
      : first(make_linear(at / "first", DType::f32, 1, 32)),
        second(make_linear(at / "second", DType::f32, 32, 32)),
        out(make_linear(at / "out", DType::f32, 32, 1)) {}
  Value operator()(Value t) const { return out(tanh(second(tanh(first(t))))); }
};

int main() {
  constexpr double damping = 0.6, stiffness = 9.09;  // true values; u = cos(3 t) exp(-0.3 t)
  Graph g;
  const Network u(Scope(g, "u"));
  const std::vector<Variable> weights = g.parameters();
  const Variable d = g.variable("d", DType::f32, {});
  const Variable k = g.variable("k", DType::f32, {}, {.initializer = Initializer::constant(5)});

  const Value times = g.input("times", DType::f32, {"measured", 1});
  const Value values = g.input("values", DType::f32, {"measured", 1});
  const Value data_loss = mse(u(times), values);

  // Rows are independent, so the gradient of the sum contains the derivative for every row.
  const Value t = uniform(g.key("times"), {64, 1}, 0, 4);
  const Value position = u(t);
  const Value speed = gradient(sum(position), t);
  const Value acceleration = gradient(sum(speed), t);
  const Value residual = acceleration + d * speed + k * position;
  const Value loss = 20 * data_loss + 0.02 * mean(square(residual));

  Program train("train");
  train.output("data", data_loss)
      .output("equation", mean(square(residual)))
      .update(adamw(loss,
                    {{.parameters = weights}, {.parameters = {d, k}, .learning_rate_scale = 3}},
                    {.lr = warmup_cosine(0.003, 100, 6000), .weight_decay = 0}));

  std::mt19937 random(1);
  std::normal_distribution<float> noise(0, 0.01f);
  std::vector<float> at, measured;
  for (int i = 0; i < 20; ++i) {
    at.push_back(0.2f * static_cast<float>(i));
    measured.push_back(std::exp(-0.3f * at.back()) * std::cos(3 * at.back()) + noise(random));
  }
  const NamedTensors feeds = {{"times", Tensor::of<float>({20, 1}, at)},
                              {"values", Tensor::of<float>({20, 1}, measured)}};
  Session session(g, {.seed = 1});
  for (int step = 1; step <= 6000; ++step) {
    const Results now = session.run(train, feeds);
    if (step % 1000 == 0)
      std::printf("step %4d  data %.6f  equation %.5f  d %.3f  k %.3f\n", step,
                  now["data"].item<float>(), now["equation"].item<float>(),
                  session.value("d").item<float>(), session.value("k").item<float>());
  }
  const double d_error = std::abs(session.value("d").at(0) - damping);
  const double k_error = std::abs(session.value("k").at(0) - stiffness);
  std::printf("true values d = %.2f and k = %.2f; errors %.3f and %.3f\n", damping, stiffness,
              d_error, k_error);
  return d_error < 0.06 && k_error < 0.3 ? 0 : 1;
}
