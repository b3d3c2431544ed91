// A GRU reads sequences of different lengths and learns the sum of the marked numbers (the adding
// problem of Hochreiter and Schmidhuber 1997). Rows are padded to the length of the longest
// sequence. `lengths` contains the number of valid elements in each row, and the padding has no
// effect.
#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

#include "weft/models/layers.h"
#include "weft/weft.h"

using namespace weft;

constexpr int kBatch = 64, kLongest = 24;

/// Returns rows of (number, mark) pairs. In each row two marks are 1, and the target is the sum of
/// the two marked numbers.
NamedTensors make_batch(unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> number(0, 1);
  std::vector<float> x(kBatch * kLongest * 2, -9.0f), sum(kBatch);
  std::vector<std::int32_t> lengths(kBatch);
  for (std::size_t row = 0; row < kBatch; ++row) {
    const int length = std::uniform_int_distribution(8, kLongest)(random);
    const int first = std::uniform_int_distribution(0, length / 2 - 1)(random);
    const int second = std::uniform_int_distribution(length / 2, length - 1)(random);
    for (int t = 0; t < length; ++t) {
      const bool marked = t == first || t == second;
      float* place = &x[2 * (row * kLongest + static_cast<std::size_t>(t))];
      place[0] = number(random);
      place[1] = marked ? 1.0f : 0.0f;
      if (marked) sum[row] += place[0];
    }
    lengths[row] = length;
  }
  return {{"x", Tensor::of<float>({kBatch, kLongest, 2}, x)},
          {"lengths", Tensor::of<std::int32_t>({kBatch}, lengths)},
          {"sum", Tensor::of<float>({kBatch}, sum)}};
}

int main() {
  Graph g;
  const Value x = g.input("x", DType::f32, {"batch", "time", 2});
  const Value lengths = g.input("lengths", DType::i32, {"batch"});
  const Value sum = g.input("sum", DType::f32, {"batch"});
  const Scope net(g, "net");
  const RecurrentResult states = gru(net / "gru", x, 48, {.lengths = lengths});
  const Value last = select(states.h, 0, 0);  // [batch, 48]: the final state of the only layer
  const Value guess = squeeze(linear(net / "out", last, 1), {1});
  const Value loss = mse(guess, sum);

  Program train("train");
  train.output("loss", loss)
      .update(adamw(loss, g.parameters(),
                    {.lr = warmup_cosine(0.01, 50, 1000), .step = {.clip_norm = 1}}));
  Program test("test");
  test.output("loss", loss).output("guess", guess);

  Session session(g, {.seed = 1});
  for (unsigned step = 1; step <= 1000; ++step) {
    const float now = session.run(train, make_batch(step))["loss"].item<float>();
    if (step % 200 == 0) std::printf("step %4u  loss %.5f\n", step, now);
  }
  const NamedTensors batch = make_batch(0);  // not used for training
  const Results result = session.run(test, batch);
  for (int row = 0; row < 3; ++row)
    std::printf("sum %.3f, predicted %.3f\n", batch[2].second.at(row), result["guess"].at(row));
  const float error = result["loss"].item<float>();
  std::printf("mean squared error %.5f; a constant prediction of 1 has 0.167\n", error);
  return error < 0.01f ? 0 : 1;
}
