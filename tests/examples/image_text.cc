// Contrastive training of two towers, as for CLIP: images of bars and their captions have similar
// vectors. New images are then classified by texts, without a classifier.
#include <cstdio>
#include <string>
#include <vector>

#include "weft/models/tasks/tasks.h"
#include "weft/weft.h"

namespace {

using namespace weft;

constexpr std::int64_t kSize = 8, kWords = 6, kBatch = 4;
const std::vector<std::string> kKinds = {"left", "right", "top", "bottom"};

/// Noisy images with a bright bar at one edge. Their captions are "start, kind, end" with the ids
/// 0, 1 to 4, and 5.
struct Batch {
  Tensor images, captions;
  std::vector<std::size_t> kinds;
};

Batch make_batch(std::int64_t count, std::uint64_t seed) {
  Batch batch{uniform_tensor({count, 1, kSize, kSize}, seed, 0, 0.6), {}, {}};
  std::vector<std::int32_t> ids;
  auto* pixels = batch.images.mutable_data<float>();
  for (std::int64_t i = 0; i < count; ++i) {
    const auto kind = static_cast<std::size_t>((i + static_cast<std::int64_t>(seed)) % 4);
    for (std::int64_t k = 0; k < kSize; ++k) {
      const std::int64_t edge = kind % 2 == 0 ? 0 : kSize - 1;
      pixels[i * kSize * kSize + (kind < 2 ? k * kSize + edge : edge * kSize + k)] += 0.7F;
    }
    batch.kinds.push_back(kind);
    for (const std::int32_t id : {0, static_cast<std::int32_t>(kind) + 1, 5}) ids.push_back(id);
  }
  batch.captions = Tensor::of({count, 3}, ids);
  return batch;
}

ImageTextConfig small_towers() {
  ImageTextConfig config;
  config.text.vocab = kWords;
  config.text.context = 4;
  config.end_id = 5;
  config.image.channels = 1;
  config.image.image_height = config.image.image_width = kSize;
  config.image.patch_height = config.image.patch_width = 4;
  config.text.layers = config.image.layers = 1;
  config.text.heads = config.image.heads = 2;
  config.text.width = config.image.width = config.projection = 16;
  config.text.inner = config.image.inner = 32;
  config.text.initializer_range = config.image.initializer_range = 0.1;
  return config;
}

}  // namespace

int main() {
  Graph graph;
  const ImageText towers(Scope(graph).training(), small_towers());
  const Value images = graph.input("images", DType::f32, {"batch", 1, kSize, kSize});
  const Value captions = graph.input("captions", DType::i32, {"batch", 3});
  const Value labels_of_kinds = graph.input("labels", DType::i32, {"kinds", 3});
  const Value image_vectors = unit_vectors(towers.image(images).vectors);
  const auto vectors_of = [&](const Value& ids) {
    return unit_vectors(towers.text({.ids = ids}).vectors);
  };
  const Value loss =
      clip_loss(towers.logits(image_vectors, vectors_of(captions), kLargestLogitScale));
  const Program train =
      Program("train").output("loss", loss).update(adamw(loss, graph.parameters(), {.lr = 3e-3}));
  const Program compare = Program("compare").output(
      "logits", towers.logits(image_vectors, vectors_of(labels_of_kinds)));

  Session session(graph, {.seed = 1});
  for (std::uint64_t step = 0; step < 300; ++step) {
    const Batch batch = make_batch(kBatch, step + 10);
    const Results results =
        session.run(train, {{"images", batch.images}, {"captions", batch.captions}});
    if (step % 100 == 99)
      std::printf("step %d: loss %.3f\n", int(step) + 1, double(results["loss"].item<float>()));
  }

  // One caption per kind, and images that were not used in training.
  const Batch test = make_batch(100, 1);
  const Tensor labels = Tensor::of<std::int32_t>({4, 3}, {0, 1, 5, 0, 2, 5, 0, 3, 5, 0, 4, 5});
  const Tensor found =
      session.run(compare, {{"images", test.images}, {"labels", labels}})["logits"];
  int right = 0;
  for (std::int64_t i = 0; i < 100; ++i) {
    std::size_t best = 0;
    for (std::size_t kind = 1; kind < kKinds.size(); ++kind) {
      if (found.at(i * 4 + std::int64_t(kind)) > found.at(i * 4 + std::int64_t(best))) best = kind;
    }
    right += best == test.kinds[static_cast<std::size_t>(i)] ? 1 : 0;
  }
  std::printf("%d of 100 new images are classified correctly by texts\n", right);
  return right >= 95 ? 0 : 1;
}
