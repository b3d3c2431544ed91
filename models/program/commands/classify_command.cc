// weft classify: classifies images and texts.

#include <memory>

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
};

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
             "folder with a ...ForSequenceClassification or ...ForImageClassification model")
      .required();
  args->texts.add(options, "inputs",
                  "PNG, JPEG or BMP files, resized and centre-cropped to the model's size; or "
                  "texts, if the model classifies texts");
  options.integer("--top", args->top, {1, 1'000'000},
                  "number of classes to print, most likely first (default 3)");
  args->truncate.add(options);
  options.flag("--json", args->json, "print one JSON object per line: input, classes");
  options.threads(args->threads);
  options.run(action, [args](const World& world) { return run_classify(*args, world); });
}

}  // namespace weft::program
