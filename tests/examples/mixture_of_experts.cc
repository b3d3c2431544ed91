// A mixture of experts learns a function that differs between regions of its input. The layer is
// trained three times: without a balancing loss, so that a few experts do most of the work, and
// with one, dropless and with a capacity per expert.
#include <algorithm>
#include <array>
#include <cstdio>
#include <random>
#include <vector>

#include "weft/models/layers.h"
#include "weft/weft.h"

using namespace weft;

constexpr int kBatch = 256, kWidth = 8, kExperts = 8;

/// Returns points and targets. The target is a linear map of the point, a different one in each
/// orthant of the first three features. Most points are in one orthant.
NamedTensors make_batch(unsigned seed) {
  std::mt19937 random(seed), fixed(1);
  std::normal_distribution<float> normal;
  std::array<std::array<float, kWidth>, 8> maps{};
  for (auto& map : maps) {
    for (float& weight : map) weight = normal(fixed);
  }
  std::vector<float> x(kBatch * kWidth), y(kBatch);
  for (std::size_t row = 0; row < kBatch; ++row) {
    float* const point = &x[row * kWidth];
    for (std::size_t i = 0; i < kWidth; ++i) point[i] = normal(random) + (i < 3 ? 1.2F : 0.0F);
    const int orthant = (point[0] > 0 ? 1 : 0) + (point[1] > 0 ? 2 : 0) + (point[2] > 0 ? 4 : 0);
    const auto& map = maps[static_cast<std::size_t>(orthant)];
    for (std::size_t i = 0; i < kWidth; ++i) y[row] += map[i] * point[i];
  }
  return {{"x", Tensor::of<float>({kBatch, kWidth}, x)}, {"y", Tensor::of<float>({kBatch}, y)}};
}

struct Outcome {
  float error = 0;           // mean squared error on points that were not used for training
  float busiest = 0;         // the share of the choices that the busiest expert gets, times experts
  std::int64_t dropped = 0;  // choices beyond the capacity
};

Outcome train_and_test(const MixtureOfExpertsOptions& options, double balancing) {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", kWidth});
  const Value y = g.input("y", DType::f32, {"batch"});
  const Scope net(g, "net");
  const Value h = linear(net / "in", x, 16);
  const MixtureOfExpertsOutput moe = mixture_of_experts(net / "moe", h, options);
  const Value error = mse(squeeze(linear(net / "out", h + moe.y, 1), {1}), y);
  const Value loss = error + balancing * moe.balancing_loss + 1e-4 * moe.z_loss;

  Program train("train");
  train.output("error", error)
      .update(adamw(loss, g.parameters(), {.lr = warmup_cosine(0.01, 50, 1200)}));
  Program test("test");
  test.output("error", error).output("counts", moe.expert_counts);
  test.output("dropped", moe.dropped_choices);

  Session session(g, {.seed = 1});
  for (unsigned step = 1; step <= 1200; ++step) session.run(train, make_batch(step));
  const Results result = session.run(test, make_batch(0));
  const auto counts = result["counts"].to_vector<std::int64_t>();
  const float choices = static_cast<float>(kBatch) * static_cast<float>(options.experts_per_token);
  return {result["error"].item<float>(),
          static_cast<float>(*std::max_element(counts.begin(), counts.end())) * kExperts / choices,
          result["dropped"].item<std::int64_t>()};
}

int main() {
  MixtureOfExpertsOptions options{.experts = kExperts, .experts_per_token = 2, .inner = 32};
  const Outcome free = train_and_test(options, 0);
  const Outcome balanced = train_and_test(options, 0.5);
  options.capacity_factor = 1.25;
  const Outcome limited = train_and_test(options, 0.5);
  for (const auto& [name, o] :
       {std::pair{"no balancing loss", free}, {"dropless", balanced}, {"capacity 1.25", limited}}) {
    std::printf("%-18s error %.3f, busiest expert %.2f times the mean, %d choices dropped\n", name,
                static_cast<double>(o.error), static_cast<double>(o.busiest),
                static_cast<int>(o.dropped));
  }
  const bool learned = balanced.error < 1 && limited.error < 1;
  const bool even = balanced.busiest < 1.6F && balanced.busiest < free.busiest;
  return learned && even && balanced.dropped == 0 ? 0 : 1;
}
