// Trains a vision transformer (Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words") to
// classify 8 x 8 images of handwritten digits. An image consists of sixteen patches of 2 x 2
// pixels.
//
//   zoo_vit_digits FOLDER [OUT.weft]
//
// FOLDER contains optdigits.tra and optdigits.tes (E. Alpaydin, C. Kaynak, 1998), with 3,823
// training digits written by 30 people and 1,797 test digits written by 13 other people. The test
// digits are used only once, at the end. A random tenth of the training digits, selected with the
// seed, is used as the validation set.
#include <fmt/format.h>

#include <chrono>

#include "weft/models/data/images/image_folder.h"
#include "weft/models/tasks/image_classification/image_classifier.h"
#include "weft/models/training/trainable.h"
#include "weft/models/zoo/data/exit_code.h"
#include "weft/models/zoo/data/print_progress.h"

using namespace weft;

namespace {

constexpr std::uint64_t kSeed = 1337;

/// Returns a config with four layers of width 64 over 4 x 4 patches. The head reads the mean over
/// the patches.
VitConfig model_config() {
  VitConfig config;
  config.channels = 1;
  config.image_height = config.image_width = 8;
  config.patch_height = config.patch_width = 2;
  config.layers = 4;
  config.heads = 4;
  config.width = 64;
  config.inner = 256;
  config.pooling = VitPooling::mean;
  config.initializer_range = 0.08;  // about 1 / sqrt(width); ViT's 0.02 is for width 768
  return config;
}

/// Returns settings for about 28 epochs of AdamW with a cosine schedule.
TrainSettings train_settings() {
  TrainSettings settings;
  settings.steps = 1500;
  settings.batch = 64;
  settings.lr = 2e-3;
  settings.min_lr = 1e-5;
  settings.warmup = 100;
  settings.weight_decay = 0.05;
  settings.eval_every = 300;
  settings.eval_batches = 0;  // all validation images
  settings.seed = kSeed;
  return settings;
}

/// Prints the validation loss and accuracy.
/// Prints a digit as ASCII art, light on dark.
void print_image(const Tensor& image) {
  constexpr std::string_view kShades = " .:-=+*#%@";
  for (std::int64_t i = 0; i < image.numel(); ++i) {
    const char shade = kShades[static_cast<std::size_t>(image.at(i) * 9)];
    fmt::print("{}{}{}", shade, shade, i % image.size(2) == image.size(2) - 1 ? "\n" : "");
  }
}

void run(const std::string& folder, const std::string& out) {
  // Data: pixels in [0, 1], with classes "0" to "9".
  const ImageData data = load_image_data(folder, {1, 8, 8}, kSeed);
  const auto [train, validation] = split(data.train, 0.1, kSeed);
  fmt::print("{} training images, {} validation images (seed {}), {} test images ({})\n",
             train.count(), validation.count(), kSeed, data.test.count(), data.about);

  // Training, with slight rotation, scaling and shifting as augmentation.
  const ImageAugmentation augmentation{.shift = 0.5, .rotation = 8, .zoom = 0.08};
  ImageClassifier model = trainable(build_image_classifier(
      model_config(), train.classes, normalisation_of(train), augmentation, train_settings()));
  const auto start = std::chrono::steady_clock::now();
  {
    Session session(*model.graph, model.store, {.seed = kSeed});
    zoo::PrintProgress progress;
    Trainer trainer(session, image_task(session, model, train, validation),
                    {.settings = model.settings, .observer = &progress});
    trainer.run();
    model.history = trainer.history();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;

  // The file contains the whole model, so loading it requires none of the code above.
  save_model(out, model);
  const ImageClassifier loaded = load_model<ImageClassifier>(out);
  Session session(*loaded.graph, loaded.store);
  const ImageEvaluation found = evaluate_images(session, loaded, data.test);
  fmt::print("{}", found.matrix.table());
  print_image(data.test.image(0));
  for (const ClassScore& score : classify(session, loaded, data.test.image(0), 3))
    fmt::print("  a {} with probability {:.4f}\n", score.name, score.probability);
  fmt::print("test accuracy {:.4f} ({} of {}) after {:.0f} s of training; wrote {}\n",
             found.matrix.accuracy(), found.matrix.correct(), found.matrix.total(), seconds.count(),
             out);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fmt::print(stderr, "usage: zoo_vit_digits FOLDER [OUT.weft]\n");
    return 2;
  }
  return zoo::exit_code("vit_digits",
                        [&] { run(argv[1], argc == 3 ? argv[2] : "vit_digits.weft"); });
}
