// weft classify: what is in the picture, or what kind of text it is.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <numeric>

#include "weft/models/data/image_codec.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"
#include "weft/models/program/options.h"
#include "weft/models/train/encoder_file.h"
#include "weft/models/train/image_classifier.h"
#include "weft/models/train/model_file.h"
#include "weft/models/train/text_classifier.h"

namespace weft::program {
namespace {

struct ClassifyArguments {
  std::string file;
  std::vector<std::string> inputs;
  std::int64_t top = 3;
  int threads = 0;
};

int classify_texts(const ClassifyArguments& args) {
  const TextClassifier model = load_text_classifier(args.file);
  const std::vector<Classified> found = classify(model, args.inputs, args.threads);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::vector<double>& p = found[i].probabilities;
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return p[a] > p[b]; });
    say("{}", args.inputs[i]);
    for (std::size_t k = 0; k < order.size() && static_cast<std::int64_t>(k) < args.top; ++k)
      say("  {} {:.4f}", model.classes[order[k]], p[order[k]]);
    say("\n");
  }
  return 0;
}

int run(const ClassifyArguments& args) {
  if (config_type(load_checkpoint(args.file)) == kEncoderConfigType) return classify_texts(args);
  const ImageClassifier model = load_image_classifier(args.file);
  Session session(*model.graph, model.store, {.threads = args.threads});
  for (const std::string& path : args.inputs) {
    const Tensor image = read_image(path, model.config.channels);
    say("{}", path);
    for (const ClassScore& score : classify(session, model, image, args.top))
      say("  {} {:.4f}", score.name, score.probability);
    say("\n");
  }
  return 0;
}

}  // namespace

void add_classify_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "classify", "The likeliest classes of images or texts, with their probabilities");
  const auto args = std::make_shared<ClassifyArguments>();
  OptionList options(*command);
  options.input("file", args->file, "a .weft file that weft train vit or encoder wrote")
      ->required();
  options
      .texts("inputs", args->inputs, OptionList::Times::list,
             "PNG, JPEG or BMP files, resized to the model's size, whose middle is looked "
             "at; or texts, where the file holds a classifier of texts")
      ->required();
  options.integer("--top", args->top, {1, 1'000'000},
                  "classes to print, the likeliest first (default 3)");
  options.threads(args->threads);
  command->callback([args, &action] { action = [args] { return run(*args); }; });
}

}  // namespace weft::program
