#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "weft/core/error.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"
#include "weft/models/program/figures.h"
#include "weft/models/program/held_out.h"
#include "weft/models/program/options.h"
#include "weft/models/program/trained_model.h"
#include "weft/models/train/masked_image_task.h"

namespace weft::program {
namespace {

struct EvaluateArguments {
  std::string file;
  HeldOutData data;
};

void print(const TextClassifier& model, const HeldOutData& data) {
  const LabelledText test = held_out_texts(model, data);
  Session session(*model.graph, model.store, {.threads = data.threads});
  const ConfusionMatrix matrix = confusion(session, model, test);
  say("{}test      accuracy {:.4f} of {} texts\n", matrix.table(), matrix.accuracy(),
      matrix.total());
}

void print(const ImageClassifier& model, const HeldOutData& data) {
  const ImageData images = held_out_images(model.image_size(), model.settings, data);
  Session session(*model.graph, model.store, {.threads = data.threads});
  const ImageEvaluation found = evaluate_images(session, model, images.test);
  finite_figure(found.loss, "the loss");
  say("{}test      loss {:.4f}, accuracy {:.4f} ({} of {}: {})\n", found.report.table(), found.loss,
      found.report.accuracy(), found.report.correct(), found.report.total(), images.about);
}

void print(const MaskedImageModel& model, const HeldOutData& data) {
  const ImageData images = held_out_images(model.image_size(), model.settings, data);
  Session session(*model.graph, model.store, {.threads = data.threads});
  say("test      loss {:.4f} over the hidden pixels of {} images ({})\n",
      finite_figure(masked_image_loss(session, model, images.test), "the loss"),
      images.test.count(), images.about);
}

template <class Model>
void print(const Model& model, const HeldOutData& data) {
  const Evaluation found = held_out_evaluation(model, data);
  std::string line =
      fmt::format("validation loss {:.5f}", finite_figure(found.loss, "the validation loss"));
  if constexpr (kHasPerplexity<Model>) {
    line +=
        fmt::format(", perplexity {:.4f}", finite_figure(std::exp(found.loss), "the perplexity"));
  } else {
    for (const Metric& metric : found.metrics)
      line += fmt::format(", {} {:.4f}", metric.name, finite_figure(metric.value, metric.name));
  }
  say("{}\n", line);
}

int run(const EvaluateArguments& args) {
  if (!args.data.given()) {
    throw UsageError(
        "--text (language models and pre-training), --data (classifiers, models of images) or "
        "--pairs (translators) is required");
  }
  return with_trained_model(args.file, [&](const auto& model) {
    check_data(model, args.data, args.file);
    print(model, args.data);
    return 0;
  });
}

}  // namespace

void add_evaluate_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "evaluate", "Measure a trained model on the part of its data that its training held out");
  const auto args = std::make_shared<EvaluateArguments>();
  OptionList(*command)
      .input("file", args->file, "a .weft file that weft train or quantize wrote")
      ->required();
  add_held_out_options(*command, args->data);
  command->callback([args, &action] { action = [args] { return run(*args); }; });
}

}  // namespace weft::program
