// A custom optimizer, Lion (Chen et al. 2023), with a custom schedule and moving averages of the
// weights. The averages are evaluated and saved.
#include <cstdio>

#include "weft/autodiff/optimizers/optimizers.h"
#include "weft/autodiff/optimizers/step_builder.h"
#include "weft/core/random_tensors.h"
#include "weft/graph/functions.h"
#include "weft/graph/run/session.h"
#include "weft/models/layers.h"
#include "weft/serialization/checkpoint.h"

using namespace weft;

struct MyLionOptions {
  Schedule lr = 1e-4;
  double beta1 = 0.9, beta2 = 0.99;
  double weight_decay = 0;
  Decay decay = Decay::matrices;
  StepOptions step = {};
};

/// Every element changes by plus or minus the learning rate. The builder handles groups, clipping,
/// skipped steps and the names of the saved state.
TrainingStep my_lion(const Loss& loss, const ParameterGroups& groups, const MyLionOptions& o,
                     SourceLocation loc = SourceLocation::current()) {
  StepBuilder b("my_lion", loss, groups, o, loc);
  for (const StepBuilder::Parameter& p : b.parameters()) {
    const Value rate = b.rate(p);
    const Variable m = b.state(p, "m");
    const Value direction = sign(o.beta1 * m + (1 - o.beta1) * p.gradient);
    b.update(m, o.beta2 * m + (1 - o.beta2) * p.gradient);
    b.update(p.variable, p.decayed(rate) - cast(rate, direction.dtype()) * direction);
  }
  return b.finish();
}

int main() {
  Graph g;
  const Scope net(g, "net");
  const Value x = g.input("x", DType::f32, {"batch", 1});
  const Value h = tanh(linear(net / "middle", tanh(linear(net / "hidden", x, 64)), 64));
  const Value guess = linear(net / "out", h, 1);
  const Value noise = normal(g.key("noise"), guess.shape(), 0, 0.3);
  const Value loss = mse(guess, sin(3.0 * x) + noise);
  const Program evaluate = Program("evaluate").output("error", mse(guess, sin(3.0 * x)));

  const Schedule decay([](Value step) { return 3e-3 / (1.0 + step / 500.0); });
  const TrainingStep step = my_lion(loss, g.parameters(), {.lr = decay, .weight_decay = 0.1});
  const Program train = Program("train")
                            .output("loss", loss)
                            .update(step)
                            .update(Ema(g.parameters(), {.decay = 0.99}).updates(step));

  Session session(g, {.seed = 1});
  for (unsigned i = 1; i <= 3000; ++i)
    session.run(train, {{"x", uniform_tensor({64, 1}, i, -2, 2)}});
  Session averaged(g, averaged_store(*session.store()));
  const NamedTensors unseen = {{"x", uniform_tensor({1000, 1}, 0, -2, 2)}};
  const float last = session.run(evaluate, unseen)["error"].item<float>();
  const float average = averaged.run(evaluate, unseen)["error"].item<float>();
  std::printf("mean squared error %.5f with the last weights, %.5f with their averages\n", last,
              average);
  save_checkpoint("lion.weft", session, {train, evaluate});  // to resume training
  save_checkpoint("averages.weft", averaged, {evaluate});    // for inference
  return average < last && average < 0.01f ? 0 : 1;
}
