// Deep Q-learning (Mnih et al. 2015) in a grid world with a target network. The target follows the
// online network by Polyak averages inside of the training program. The learned values are compared
// with the exact ones from value iteration.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "weft/models/layers.h"
#include "weft/weft.h"

using namespace weft;

constexpr int kSize = 4, kStates = kSize * kSize, kActions = 4, kBatch = 64;
constexpr double kDiscount = 0.9;

/// Returns the state after a move on the grid; walls stop a move. The episode ends with reward 1 in
/// the last state; all other rewards are 0.
int next_state(int state, int action) {
  constexpr std::array<int, kActions> dx = {1, 0, -1, 0}, dy = {0, 1, 0, -1};
  const auto a = static_cast<std::size_t>(action);
  const int x = std::clamp(state % kSize + dx[a], 0, kSize - 1);
  const int y = std::clamp(state / kSize + dy[a], 0, kSize - 1);
  return y * kSize + x;
}

/// Maps states i32 [n] to action values [n, kActions].
Value action_values(const Scope& net, Value states) {
  const Value h = relu(linear(net / 0, cast(one_hot(states, kStates), DType::f32), 64));
  return linear(net / "out", h, kActions);
}

/// The exact action values.
std::vector<double> exact_values() {
  std::vector<double> q(kStates * kActions, 0.0);
  for (int sweep = 0; sweep < 200; ++sweep) {
    for (int i = 0; i < kStates * kActions; ++i) {
      const int next = next_state(i / kActions, i % kActions);
      const double best =
          *std::max_element(q.begin() + next * kActions, q.begin() + (next + 1) * kActions);
      q[static_cast<std::size_t>(i)] = next == kStates - 1 ? 1 : kDiscount * best;
    }
  }
  return q;
}

/// Transitions of random actions in random states.
NamedTensors make_batch(std::mt19937& random) {
  std::vector<std::int32_t> states, actions, next;
  std::vector<float> rewards;
  for (int i = 0; i < kBatch; ++i) {
    states.push_back(static_cast<std::int32_t>(random() % (kStates - 1)));
    actions.push_back(static_cast<std::int32_t>(random() % kActions));
    next.push_back(next_state(states.back(), actions.back()));
    rewards.push_back(next.back() == kStates - 1 ? 1.0f : 0.0f);
  }
  return {{"states", Tensor::of({kBatch}, states)},
          {"actions", Tensor::of({kBatch}, actions)},
          {"next", Tensor::of({kBatch}, next)},
          {"rewards", Tensor::of({kBatch}, rewards)}};
}

int main() {
  Graph g;
  const Scope online(g, "online"), target(g, "target");
  const Value states = g.input("states", DType::i32, {"n"}),
              next = g.input("next", DType::i32, {"n"});
  const Value actions = g.input("actions", DType::i32, {"n"});
  const Value rewards = g.input("rewards", DType::f32, {"n"});
  const Value values = action_values(online, states);
  const Value taken = squeeze(take_along_axis(values, unsqueeze(actions, 1), 1), {1});
  const Value best_next = max(action_values(target, next), {1});
  const Value wanted = stop_gradient(rewards + kDiscount * (1 - rewards) * best_next);
  const Value loss = mse(taken, wanted);

  const TrainingStep step = adam(loss, online.parameters(), {.lr = 3e-3});
  const Program train = Program("train")
                            .output("loss", loss)
                            .update(step)
                            .update(polyak_updates(target, online, step, {.tau = 0.02}));
  const Program predict = Program("predict").output("values", values);

  Session session(g, {.seed = 1});
  copy_parameters(session, online, target);
  std::mt19937 random(1);
  for (int i = 1; i <= 3000; ++i) {
    const float now = session.run(train, make_batch(random))["loss"].item<float>();
    if (i % 1000 == 0) std::printf("step %d  loss %.5f\n", i, static_cast<double>(now));
  }

  std::vector<std::int32_t> all;
  for (int s = 0; s < kStates; ++s) all.push_back(s);
  const Tensor learned = session.run(predict, {{"states", Tensor::of({kStates}, all)}})["values"];
  const std::vector<double> exact = exact_values();
  double error = 0;
  for (int i = 0; i < (kStates - 1) * kActions; ++i)  // no episode continues in the last state
    error = std::max(error, std::abs(learned.at(i) - exact[static_cast<std::size_t>(i)]));
  std::printf("largest error of an action value: %.4f\n", error);
  return error < 0.05 ? 0 : 1;
}
