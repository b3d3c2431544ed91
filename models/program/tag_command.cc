// weft tag: which words of a text are a name, or whatever else its model was trained to find.
#include <fmt/format.h>

#include <memory>

#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"
#include "weft/models/program/options.h"
#include "weft/models/tasks/tasks.h"

namespace weft::program {
namespace {

struct TagArguments {
  std::string file;
  std::vector<std::string> texts;
  int threads = 0;
};

int run(const TagArguments& args) {
  const auto [task, model] = load_any_model(args.file);
  Session session(*model->graph, model->store,
                  {.seed = model->settings.seed, .threads = args.threads});
  // As files to train on have it: what is wrong can be put right and learned from.
  for (const TaggedSentence& sentence : task.tag(session, *model, args.texts)) {
    for (std::size_t w = 0; w < sentence.words.size(); ++w)
      say("{}\t{}\n", sentence.words[w], sentence.tags[w]);
    say("\n");
  }
  return 0;
}

}  // namespace

void add_tag_command(CLI::App& app, Action& action) {
  OptionList options(
      app, "tag",
      "The tag of every word of texts, as lines 'word <tab> tag' with a blank line after "
      "every text");
  const auto args = std::make_shared<TagArguments>();
  options.input("file", args->file, "a .weft file that weft train encoder --task tag wrote")
      .required();
  options
      .texts("texts", args->texts, OptionList::Times::list,
             "sentences, with blanks between words and marks: \"she lives in York .\"")
      .required();
  options.threads(args->threads);
  options.run(action, [args] { return run(*args); });
}

}  // namespace weft::program
