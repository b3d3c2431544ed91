// A convolutional network with batch norm and dropout classifies stripes as horizontal, vertical or
// diagonal. One function describes the model. Called in two modes, it builds the training and the
// prediction program. The training program updates the running statistics of the norms without
// further code.
#include <cstdio>
#include <random>
#include <vector>

#include "weft/models/layers.h"
#include "weft/weft.h"

using namespace weft;

constexpr int kSide = 12, kClasses = 3;

/// Maps images [batch, 1, kSide, kSide] to logits [batch, kClasses].
Value stripes(const Scope& net, Value images) {
  Value h = images;
  for (const int width : {8, 16}) {
    const Scope block = net / width;
    h = conv2d(block / "conv", h, width, {.padding = same_padding, .bias = false});
    h = max_pool2d(relu(batch_norm(block / "norm", h)), {.kernel = {2, 2}});
  }
  return linear(net / "head", dropout(net, global_avg_pool(h), 0.2), kClasses);
}

/// Returns noisy images f32 [n, 1, kSide, kSide] and their classes i32 [n].
NamedTensors make_batch(int n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> noise(0, 0.5f);
  std::vector<float> pixels;
  std::vector<std::int32_t> classes;
  for (int i = 0; i < n; ++i) {
    const auto kind = static_cast<int>(random() % kClasses);
    const auto shift = static_cast<int>(random() % 4);
    for (int y = 0; y < kSide; ++y) {
      for (int x = 0; x < kSide; ++x) {
        const int across = kind == 0 ? y : kind == 1 ? x : x + y;
        pixels.push_back(((across + shift) / 2 % 2 == 0 ? 1.0f : 0.0f) + noise(random));
      }
    }
    classes.push_back(kind);
  }
  return {{"images", Tensor::of<float>({n, 1, kSide, kSide}, pixels)},
          {"labels", Tensor::of<std::int32_t>({n}, classes)}};
}

int main() {
  Graph g;
  const Value images = g.input("images", DType::f32, {"batch", 1, kSide, kSide});
  const Value labels = g.input("labels", DType::i32, {"batch"});
  const Scope net(g, "net");
  const Value loss = cross_entropy(stripes(net.training(), images), labels);
  const Value classes = argmax(stripes(net.evaluation(), images), 1);

  Program train("train");
  train.update(adamw(loss, net.parameters(), {.lr = 0.005}));
  Program predict("predict");
  predict.output("classes", classes)
      .output("accuracy", mean(cast(equal(classes, cast(labels, DType::i64)), DType::f32)));

  Session session(g, {.seed = 1});
  for (unsigned step = 1; step <= 200; ++step) session.run(train, make_batch(32, step));
  save_checkpoint("cnn.weft", session, {predict});

  const Checkpoint file = load_checkpoint("cnn.weft");  // needs none of the code above
  Session loaded(file.graph(), file.store());
  const float accuracy =
      loaded.run(file.program("predict"), make_batch(300, 0))["accuracy"].item<float>();
  std::printf("accuracy on unseen images: %.1f%%\n", 100 * accuracy);
  return accuracy > 0.95f ? 0 : 1;
}
