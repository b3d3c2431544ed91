// weft classify: what is in the picture.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "weft/models/data/image_codec.h"
#include "weft/models/program/commands.h"
#include "weft/models/train/image_classifier.h"

namespace weft::program {
namespace {

struct ClassifyArguments {
  std::string file;
  std::vector<std::string> images;
  std::int64_t top = 3;
  int threads = 0;
};

int run(const ClassifyArguments& args) {
  const ImageClassifier model = load_image_classifier(args.file);
  Session session(*model.graph, model.store, {.threads = args.threads});
  for (const std::string& path : args.images) {
    const Tensor image = read_image(path, model.config.channels);
    fmt::print("{}", path);
    for (const ClassScore& score : classify(session, model, image, args.top))
      fmt::print("  {} {:.4f}", score.name, score.probability);
    fmt::print("\n");
  }
  return 0;
}

}  // namespace

void add_classify_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("classify", "The likeliest classes of images, with their probabilities");
  const auto args = std::make_shared<ClassifyArguments>();
  command->add_option("file", args->file, "a .weft file that weft train vit wrote")->required();
  command
      ->add_option("images", args->images,
                   "PNG, JPEG or BMP files; resized to the model's size, the middle is looked at")
      ->required();
  command->add_option("--top", args->top, "classes to print, the likeliest first (default 3)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
  command->add_option("--threads", args->threads, "0 = all; results do not depend on it")
      ->check(CLI::Range(0, 1024));
  command->callback([args, &action] { action = [args] { return run(*args); }; });
}

}  // namespace weft::program
