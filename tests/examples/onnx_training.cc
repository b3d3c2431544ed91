// Fine-tunes a network that is read from an ONNX file: the output is cut below the head, a new head
// and a loss are attached, the first layer is frozen, and the result is written as ONNX again. The
// first part takes the role of another program: it trains a network for two classes and exports it.
#include <cstdio>
#include <random>
#include <vector>

#include "weft/models/layers.h"
#include "weft/models/training/fine_tune.h"
#include "weft/serialization/onnx/onnx.h"
#include "weft/weft.h"

using namespace weft;

constexpr int kSide = 8;

/// Returns noisy images f32 [n, 1, kSide, kSide] of horizontal, vertical and diagonal stripes, and
/// their classes i32 [n].
NamedTensors make_batch(int n, unsigned seed, unsigned kinds) {
  std::mt19937 random(seed);
  std::normal_distribution<float> noise(0, 0.3f);
  std::vector<float> pixels;
  std::vector<std::int32_t> classes;
  for (int i = 0; i < n; ++i) {
    const auto kind = static_cast<unsigned>(random() % kinds);
    const auto shift = static_cast<unsigned>(random() % 4);
    for (unsigned y = 0; y < kSide; ++y) {
      for (unsigned x = 0; x < kSide; ++x) {
        const unsigned across = kind == 0 ? y : kind == 1 ? x : x + y;
        pixels.push_back(((across + shift) / 2 % 2 == 0 ? 1.0f : 0.0f) + noise(random));
      }
    }
    classes.push_back(static_cast<std::int32_t>(kind));
  }
  return {{"images", Tensor::of<float>({n, 1, kSide, kSide}, pixels)},
          {"labels", Tensor::of<std::int32_t>({n}, classes)}};
}

/// Trains a network for two kinds of stripes and writes it with the outputs "features" and
/// "logits".
void write_network(const char* path) {
  Graph g;
  const Value images = g.input("images", DType::f32, {"batch", 1, kSide, kSide});
  const Value labels = g.input("labels", DType::i32, {"batch"});
  const Scope net(g);
  const Value first = relu(conv2d(net / "conv1", images, 8, {.padding = same_padding}));
  const Value features =
      global_avg_pool(relu(conv2d(net / "conv2", first, 16, {.padding = same_padding})));
  const Value logits = linear(net / "head", features, 2);
  Program train("train"), predict("predict");
  train.update(adamw(cross_entropy(logits, labels), g.parameters(), {.lr = 0.01}));
  predict.output("features", features).output("logits", logits);
  const auto store = std::make_shared<VariableStore>();
  Session session(g, store, {.seed = 1});
  for (unsigned step = 0; step < 60; ++step) session.run(train, make_batch(32, step, 2));
  write_onnx(path, predict, *store);
}

int main() {
  write_network("stripes.onnx");

  const OnnxModel model = read_onnx("stripes.onnx", {.outputs = {"features"}});
  Graph& g = model.checkpoint.graph();
  const Value features = model.checkpoint.program("predict").outputs().front().second;
  const Value labels = g.input("labels", DType::i32, {"batch"});
  freeze(g, {"conv1.*"});
  const Value logits = linear(Scope(g, "three"), features, 3);

  Program train("train"), predict("predict");
  train.update(adamw(cross_entropy(logits, labels), g.parameters(), {.lr = 0.01}));
  const Value classes = argmax(logits, 1);
  predict.output("classes", classes)
      .output("accuracy", mean(cast(equal(classes, cast(labels, DType::i64)), DType::f32)));
  const auto store = model.checkpoint.store();
  Session session(g, store, {.seed = 2, .initialise_missing = true});  // of the new head
  for (unsigned step = 0; step < 150; ++step) session.run(train, make_batch(32, step, 3));

  const float accuracy = session.run(predict, make_batch(300, 1000, 3))["accuracy"].item<float>();
  Program result("classify");
  write_onnx("three.onnx", result.output("classes", classes), *store);
  std::printf("accuracy on unseen images: %.1f%%\n", 100 * accuracy);
  return accuracy > 0.9f ? 0 : 1;
}
