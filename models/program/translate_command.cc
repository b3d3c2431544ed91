#include <fmt/format.h>

#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>

#include "weft/core/error.h"
#include "weft/models/data/text.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"
#include "weft/models/program/options.h"
#include "weft/models/tasks/seq2seq/seq2seq_model.h"

namespace weft::program {
namespace {

struct TranslateArguments {
  std::string file, input;
  std::vector<std::string> texts;
  TranslateOptions options;
  int threads = 0;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

int run(const TranslateArguments& args) {
  if (args.texts.empty() == args.input.empty())
    throw UsageError("give texts to translate, or --input FILE with one a line (- is stdin)");
  const Seq2SeqModel model = load_model<Seq2SeqModel>(args.file);
  std::vector<std::string> texts = args.texts;
  if (args.input == "-") {
    texts = lines_of(std::string(std::istreambuf_iterator<char>(std::cin), {}));
  } else if (!args.input.empty()) {
    texts = lines_of(read_utf8_file(args.input));
  }
  Session session(*model.graph, model.store, session_options(model, {.threads = args.threads}));
  for (const std::string& output : translate(session, model, texts, args.options))
    say("{}\n", output);
  return 0;
}

}  // namespace

void add_translate_command(CLI::App& app, Action& action) {
  OptionList options(app, "translate", "Texts from a model that weft train seq2seq made");
  const auto args = std::make_shared<TranslateArguments>();
  options.input("file", args->file, "a .weft file that weft train seq2seq wrote").required();
  options.texts("texts", args->texts, OptionList::Times::list, "texts to translate");
  options.input("--input", args->input, "file with a text on each line; - is stdin");
  options.integer("--beams", args->options.beams, {1, 64}, "1 = greedy (default)");
  options.real("--length-penalty", args->options.length_penalty, {-1000, 1000},
               "of beams: scores are divided by length^F (default: 1)");
  options.integer("--batch", args->options.batch, {1, 4096},
                  "texts that are decoded together (default: 64)");
  options.threads(args->threads);
  options.run(action, [args] { return run(*args); });
}

}  // namespace weft::program
