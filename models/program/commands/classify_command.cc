// weft classify: classifies images and texts.

#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "weft/models/program/commands/commands.h"
#include "weft/models/program/commands/text_command.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/json_lines.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/tasks/image_classification/image_classifier.h"

namespace weft::program {
namespace {

struct ClassifyArguments : TextArguments {
  std::int64_t top = 3;
  std::vector<std::string> labels, templates;
};

/// Classifies images by labels. Errors about texts name the label.
std::vector<std::vector<ClassScore>> classes_of_labels(Session& session, const TrainedModel& model,
                                                       const std::vector<std::string>& images,
                                                       const ClassifyArguments& args) {
  ZeroShotOptions options{.most = args.top};
  if (!args.templates.empty()) options.templates = args.templates;
  if (args.truncate.given()) options.on_cut = [](const CutText&) {};
  try {
    return zero_shot_classes(session, model, images, args.labels, options);
  } catch (const TextError& e) {
    throw UsageError(
        fmt::format("--labels '{}': {}", args.labels[e.text() % args.labels.size()], e.reason()));
  }
}

void print_classes(const std::string& input, const std::vector<ClassScore>& scores) {
  say("{}", input);
  for (const ClassScore& score : scores) say("  {} {:.4f}", score.name, score.probability);
  say("\n");
}

void print_classes_json(const std::string& input, const std::vector<ClassScore>& scores) {
  JsonLine classes = JsonLine::array();
  for (const ClassScore& score : scores)
    classes.push_back({{"class", score.name}, {"probability", rounded(score.probability)}});
  say_json({{"input", input}, {"classes", std::move(classes)}});
}

int run_classify(ClassifyArguments& args, const World& world) {
  return run_on_texts(
      args, Use::classify, "inputs", world,
      [&](Session& session, const TrainedModel& model, const std::vector<std::string>& inputs) {
        if (args.truncate.given() && dynamic_cast<const AnyImageClassifier*>(&model) != nullptr)
          throw UsageError("--truncate is for texts, but the model classifies images");
        if (!args.labels.empty()) return classes_of_labels(session, model, inputs, args);
        return most_likely_classes(session, model, inputs,
                                   {.most = args.top, .on_cut = args.truncate.on_cut()});
      },
      args.json ? print_classes_json : print_classes);
}

}  // namespace

void add_classify_command(CLI::App& app, Action& action) {
  OptionList options(app, "classify",
                     "Print the most likely classes of images or texts, with their probabilities");
  const auto args = std::make_shared<ClassifyArguments>();
  options
      .input("file", args->file,
             "a .weft file written by weft train vit or weft train encoder, or a Hugging Face "
             "folder with a ...ForSequenceClassification or ...ForImageClassification model, or "
             "with --labels a model that compares images and texts (CLIP, SigLIP)")
      .required();
  args->texts.add(options, "inputs",
                  "PNG, JPEG or BMP files, resized and centre-cropped to the model's size; or "
                  "texts, if the model classifies texts");
  const AddedOption labels = options.texts(
      "--labels", args->labels, OptionList::Times::list,
      "classes of images as texts, such as \"a cat\" \"a dog\"; the probabilities sum "
      "to 1 for CLIP, and are independent of each other for SigLIP");
  options
      .texts(
          "--template", args->templates, OptionList::Times::list,
          "text in which {} is replaced by the label, such as \"a photo of {}\"; several templates "
          "are averaged (default: the label alone)")
      .needs(labels);
  options.integer("--top", args->top, {1, 1'000'000},
                  "number of classes to print, most likely first (default 3)");
  args->truncate.add(options);
  options.flag("--json", args->json, "print one JSON object per line: input, classes");
  options.execution(args->execution);
  options.run(action, [args](const World& world) { return run_classify(*args, world); });
}

}  // namespace weft::program
