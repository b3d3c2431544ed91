// weft translate: texts from texts, a line each.
#include <fmt/format.h>

#include <filesystem>
#include <iterator>
#include <memory>

#include "weft/core/error.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"
#include "weft/models/program/json_lines.h"
#include "weft/models/program/options.h"
#include "weft/models/program/text_inputs.h"
#include "weft/models/tasks/seq2seq/seq2seq_model.h"
#include "weft/models/tasks/tasks.h"

namespace weft::program {
namespace {

struct TranslateArguments {
  std::string file, from, to;
  TextInputs texts;
  TranslateOptions options;
  bool json = false;
  int threads = 0;
};

/// Of a folder or a file.
std::unique_ptr<Seq2SeqModel> open_translator(const std::string& path) {
  if (!std::filesystem::is_directory(path))
    return std::make_unique<Seq2SeqModel>(load_model<Seq2SeqModel>(path));
  LoadedModel opened = load_any_model(path);
  if (dynamic_cast<Seq2SeqModel*>(opened.model.get()) == nullptr) {
    throw FormatError(
        fmt::format("{} holds a {}, which translates nothing (weft generate goes on "
                    "with texts)",
                    path, opened.model->layout().kind));
  }
  return model_as<Seq2SeqModel>(std::move(opened.model));
}

TranslateOptions options_of(const TranslateArguments& args) {
  if (args.from.empty() != args.to.empty())
    throw UsageError("--from and --to are the languages of a prefix: give both");
  TranslateOptions options = args.options;
  if (args.from.empty()) return options;
  if (!options.prefix.empty())
    throw UsageError("--from and --to make the prefix: leave them out, or --prefix");
  options.prefix = fmt::format("translate {} to {}: ", args.from, args.to);
  return options;
}

int run(const TranslateArguments& args) {
  const TranslateOptions options = options_of(args);
  const std::vector<std::string> texts = args.texts.read();
  const std::unique_ptr<Seq2SeqModel> model = open_translator(args.file);
  Session session(*model->graph, model->store, session_options(*model, {.threads = args.threads}));
  const SpeedReport speed;
  const std::vector<WrittenText> outputs = translate_texts(session, *model, texts, options);
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const WrittenText& output = outputs[i];
    tokens += std::ssize(output.ids);
    if (!args.json) {
      say("{}\n", output.text);
      continue;
    }
    JsonLine line = {{"source", texts[i]}, {"text", output.text}, {"ids", output.ids}};
    if (output.score) line["score"] = rounded(*output.score);
    line["finish"] = choice_name(output.finish);
    say_json(line);
  }
  if (args.texts.many()) speed.done("texts", std::ssize(texts), tokens);
  return 0;
}

}  // namespace

void add_translate_command(CLI::App& app, Action& action) {
  OptionList options(app, "translate", "Texts from texts, by an encoder-decoder");
  const auto args = std::make_shared<TranslateArguments>();
  options
      .input("file", args->file,
             "a .weft file that weft train seq2seq wrote, or a Hugging Face folder (Marian, T5, "
             "mBART, BART, PEGASUS)")
      .required();
  args->texts.add(options, "texts", "texts to translate");
  options.integer("--beams", args->options.beams, {1, 64},
                  "1 = greedy (default; of folders as their settings say)");
  options.real("--length-penalty", args->options.length_penalty, {-1000, 1000},
               "of beams: scores are divided by length^F (default: 1; of folders as their settings "
               "say)");
  options.integer("--batch", args->options.batch, {1, 4096},
                  "texts that are decoded together (default: 64)");
  const std::string languages = "Languages";
  options.text("--from", args->from, "T5: the language of the texts, \"English\"").group(languages);
  options.text("--to", args->to, "T5: the language to translate into, \"German\"").group(languages);
  options
      .text("--prefix", args->options.prefix,
            "in front of every text; --from and --to: \"translate English to German: \"")
      .group(languages);
  options
      .text("--source-language", args->options.languages.source,
            "mBART: the code of the texts' language, \"en_XX\"")
      .group(languages);
  options
      .text("--target-language", args->options.languages.target,
            "the code of the language to translate into: \"de_DE\" (mBART), \"deu\" (Marian of "
            "several languages)")
      .group(languages);
  options.flag("--json", args->json,
               "a JSON object on each line: source, text, ids, score of beams, finish");
  options.threads(args->threads);
  options.run(action, [args] { return run(*args); });
}

}  // namespace weft::program
