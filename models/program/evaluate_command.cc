#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "weft/models/data/image_folder.h"
#include "weft/models/program/commands.h"
#include "weft/models/train/checkpoint.h"
#include "weft/models/train/evaluate.h"
#include "weft/models/train/image_classifier.h"
#include "weft/models/train/image_file.h"
#include "weft/models/train/masked_image_task.h"

namespace weft::program {
namespace {

struct EvaluateArguments {
  std::string file, text, data;
  int threads = 0;
};

/// On the test part of images.
int evaluate_classifier(const EvaluateArguments& args) {
  const ImageClassifier model = load_image_classifier(args.file);
  const ImageData data = load_image_data(args.data, model.image_size(), model.settings.seed);
  Session session(*model.graph, model.store, {.threads = args.threads});
  const ImageEvaluation found = evaluate_images(session, model, data.test);
  fmt::print("{}test      loss {:.4f}, accuracy {:.4f} ({} of {}: {})\n", found.report.table(),
             found.loss, found.report.accuracy(), found.report.correct(), found.report.total(),
             data.about);
  return 0;
}

/// On the test part of images, always with the same patches hidden.
int evaluate_masked_images(const EvaluateArguments& args) {
  const MaskedImageModel model = load_masked_image_model(args.file);
  const ImageData data = load_image_data(args.data, model.image_size(), model.settings.seed);
  Session session(*model.graph, model.store, {.threads = args.threads});
  fmt::print("test      loss {:.4f} over the hidden pixels of {} images ({})\n",
             masked_image_loss(session, model, data.test), data.test.count(), data.about);
  return 0;
}

int run(const EvaluateArguments& args) {
  if (args.text.empty() == args.data.empty())
    throw UsageError("one of --text (language models) and --data (models of images) is required");
  if (!args.data.empty()) {
    return holds_masked_image_model(load_checkpoint(args.file)) ? evaluate_masked_images(args)
                                                                : evaluate_classifier(args);
  }
  const double loss = validation_loss(load_language_model(args.file), args.text, args.threads);
  fmt::print("validation loss {:.5f}, perplexity {:.4f}\n", loss, std::exp(loss));
  return 0;
}

}  // namespace

void add_evaluate_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("evaluate",
                                         "Loss and perplexity on the validation part of a text, "
                                         "accuracy (or the loss of hidden pixels) "
                                         "on the test part of images");
  const auto args = std::make_shared<EvaluateArguments>();
  command->add_option("file", args->file, "a .weft file that weft train or quantize wrote")
      ->required();
  command->add_option("--text", args->text, "text of the training; its end validates");
  command->add_option("--data", args->data, "images, as weft train vit takes them");
  command->add_option("--threads", args->threads, "0 = all; results do not depend on it")
      ->check(CLI::Range(0, 1024));
  command->callback([args, &action] { action = [args] { return run(*args); }; });
}

}  // namespace weft::program
