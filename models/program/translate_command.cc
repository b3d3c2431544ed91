#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <memory>
#include <sstream>

#include "weft/core/error.h"
#include "weft/models/data/text.h"
#include "weft/models/program/commands.h"
#include "weft/models/train/translator.h"

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
  const Translator model = load_translator(args.file);
  std::vector<std::string> texts = args.texts;
  if (args.input == "-") {
    texts = lines_of(std::string(std::istreambuf_iterator<char>(std::cin), {}));
  } else if (!args.input.empty()) {
    texts = lines_of(read_text_file(args.input));
  }
  Session session(*model.graph, model.store,
                  {.threads = args.threads, .plan_cache = kTranslatorPlans});
  for (const std::string& output : translate(session, model, texts, args.options))
    fmt::print("{}\n", output);
  return 0;
}

}  // namespace

void add_translate_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("translate", "Texts from a model that weft train seq2seq made");
  const auto args = std::make_shared<TranslateArguments>();
  command->add_option("file", args->file, "a .weft file that weft train seq2seq wrote")->required();
  command->add_option("texts", args->texts, "texts to translate");
  command->add_option("--input", args->input, "file with a text on each line; - is stdin");
  command->add_option("--beams", args->options.beams, "1 = greedy")
      ->capture_default_str()
      ->check(CLI::Range(1, 64));
  command
      ->add_option("--length-penalty", args->options.length_penalty,
                   "of beams: scores are divided by length^F")
      ->capture_default_str();
  command->add_option("--batch", args->options.batch, "texts that are decoded together")
      ->capture_default_str()
      ->check(CLI::Range(1, 4096));
  command->add_option("--threads", args->threads, "0 = all; results do not depend on it")
      ->check(CLI::Range(0, 1024));
  command->callback([args, &action] { action = [args] { return run(*args); }; });
}

}  // namespace weft::program
