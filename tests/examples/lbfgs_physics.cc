// A physics-informed network (Raissi et al. 2019) for the damped pendulum
//   a'' + d a' + k sin(a) = 0,  a(0) = 1.5, a'(0) = 0,
// trained with L-BFGS. The equation is checked at fixed times, so the loss is the same function in
// every evaluation. Adam evaluates the loss and its gradient equally often, and the errors of both
// are measured against a Runge-Kutta solution.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include "weft/models/layers.h"
#include "weft/weft.h"

using namespace weft;

constexpr double kDamping = 0.3, kStiffness = 2, kStart = 1.5, kEnd = 5;
constexpr int kTimes = 61;

/// Maps times [n, 1] to angles [n, 1]. The form of the result meets the initial conditions.
Value angle(const Scope& net, Value t) {
  const Value h = tanh(linear(net / 0, t - kEnd / 2, 24));
  return kStart + square(t / kEnd) * linear(net / "out", tanh(linear(net / 1, h, 24)), 1);
}

/// Integrates the equation with the classical Runge-Kutta method; returns the angles at kTimes
/// times.
std::vector<double> exact_angles() {
  constexpr int kSubsteps = 100;
  constexpr double h = kEnd / (kTimes - 1) / kSubsteps;
  const auto acceleration = [](double a, double v) {
    return -kDamping * v - kStiffness * std::sin(a);
  };
  double a = kStart, v = 0;
  std::vector<double> result = {a};
  for (int i = 1; i < kTimes; ++i) {
    for (int k = 0; k < kSubsteps; ++k) {
      const double v1 = v, w1 = acceleration(a, v);
      const double v2 = v + h / 2 * w1, w2 = acceleration(a + h / 2 * v1, v2);
      const double v3 = v + h / 2 * w2, w3 = acceleration(a + h / 2 * v2, v3);
      const double v4 = v + h * w3, w4 = acceleration(a + h * v3, v4);
      a += h / 6 * (v1 + 2 * v2 + 2 * v3 + v4);
      v += h / 6 * (w1 + 2 * w2 + 2 * w3 + w4);
    }
    result.push_back(a);
  }
  return result;
}

int main() {
  Graph g;
  const Scope net(g, "net");
  const Value t = g.input("t", DType::f64, {kTimes, 1});
  const Value a = angle(net, t);
  // Rows are independent, so the gradient of the sum contains the derivative for every row.
  const Value speed = gradient(sum(a), t), acceleration = gradient(sum(speed), t);
  const Value loss = mean(square(acceleration + kDamping * speed + kStiffness * sin(a)));
  const Program predict = Program("predict").output("angle", a);

  std::vector<double> times;
  for (int i = 0; i < kTimes; ++i) times.push_back(kEnd * i / (kTimes - 1));
  const NamedTensors feeds = {{"t", Tensor::of<double>({kTimes, 1}, times)}};
  const std::vector<double> exact = exact_angles();
  const auto largest_error = [&](Session& session) {
    double error = 0;
    const std::vector<double> found = session.run(predict, feeds)["angle"].to_vector<double>();
    for (std::size_t i = 0; i < exact.size(); ++i)
      error = std::max(error, std::abs(found[i] - exact[i]));
    return error;
  };

  Session session(g, {.seed = 1});
  Lbfgs lbfgs(session, loss, net.parameters(), feeds, {.history = 30, .max_iterations = 400});
  while (lbfgs.step()) {
    const LbfgsResult& now = lbfgs.result();
    if (now.iterations % 100 == 0)
      std::printf("iteration %3lld  loss %.2e\n", static_cast<long long>(now.iterations), now.loss);
  }
  const LbfgsResult& result = lbfgs.result();
  const double error = largest_error(session);
  std::printf("%s; error of the angle %.1e\n", result.str().c_str(), error);

  Session with_adam(g, {.seed = 1});
  const Program train =
      Program("train")
          .output("loss", loss)
          .update(adam(loss, net.parameters(), {.lr = warmup_cosine(1e-2, 50, 700)}));
  double adam_loss = 0;
  for (std::int64_t i = 0; i < result.evaluations; ++i)
    adam_loss = with_adam.run(train, feeds)["loss"].item<double>();
  const double adam_error = largest_error(with_adam);
  std::printf("Adam, equal evaluations: loss %.2e; error of the angle %.1e\n", adam_loss,
              adam_error);
  return error < 0.01 && error < adam_error / 3 ? 0 : 1;
}
