// weft classify: what is in the picture, or what kind of text it is.
#include <fmt/format.h>

#include <memory>

#include "weft/models/program/console.h"
#include "weft/models/program/options.h"
#include "weft/models/program/train_arguments.h"
#include "weft/models/tasks/tasks.h"

namespace weft::program {
namespace {

struct ClassifyArguments {
  std::string file;
  std::vector<std::string> inputs;
  std::int64_t top = 3;
  int threads = 0;
};

int run(const ClassifyArguments& args) {
  const auto [task, model] = load_any_model(args.file);
  Session session(*model->graph, model->store,
                  {.seed = model->settings.seed, .threads = args.threads});
  const auto found = task.classify(session, *model, args.inputs, args.top);
  for (std::size_t i = 0; i < found.size(); ++i) {
    say("{}", args.inputs[i]);
    for (const ClassScore& score : found[i]) say("  {} {:.4f}", score.name, score.probability);
    say("\n");
  }
  return 0;
}

}  // namespace

void add_classify_command(CLI::App& app, Action& action) {
  OptionList options(app, "classify",
                     "The likeliest classes of images or texts, with their probabilities");
  const auto args = std::make_shared<ClassifyArguments>();
  options.input("file", args->file, "a .weft file that weft train vit or encoder wrote").required();
  options
      .texts("inputs", args->inputs, OptionList::Times::list,
             "PNG, JPEG or BMP files, resized to the model's size, whose middle is looked "
             "at; or texts, where the file holds a classifier of texts")
      .required();
  options.integer("--top", args->top, {1, 1'000'000},
                  "classes to print, the likeliest first (default 3)");
  options.threads(args->threads);
  options.run(action, [args] { return run(*args); });
}

}  // namespace weft::program
