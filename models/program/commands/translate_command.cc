// weft translate: translates texts with an encoder-decoder and prints one line per text.

#include <algorithm>
#include <memory>

#include "weft/models/program/commands/commands.h"
#include "weft/models/program/commands/text_command.h"
#include "weft/models/program/files/trace_file.h"
#include "weft/models/program/limits/decoding_guard.h"
#include "weft/models/program/options/generate_arguments.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/options/unused_options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/json_lines.h"
#include "weft/models/program/terminal/usage_error.h"

namespace weft::program {
namespace {

struct TranslateArguments {
  ModelPath file;
  TextInputs texts;
  TruncateOption truncate;
  TranslateOptions options;
  bool json = false;
  Execution execution;
  TraceArguments trace;
};

/// Replaces line breaks by spaces, so that line i of the output belongs to line i of the input.
std::string in_one_line(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return text;
}

int run(TranslateArguments& args, CommandPaths paths, const World& world) {
  TraceFile trace = on_all_ranks(world, [&] { return TraceFile(args.trace, paths, world); });
  args.execution.trace = trace.trace();
  TranslateOptions options = args.options;
  options.on_cut = args.truncate.on_cut();
  const std::vector<std::string> texts = args.texts.read(world);
  ModelSession opened(Use::translate, args.file, args.execution, world);
  options.before = [&](const TextGenerator& writer, const std::vector<TokenIds>& prompts,
                       const GenerationOptions& generation) {
    refuse_unused_truncation(args.truncate, writer);
    check_caches(writer, *opened.model->graph, prompts, generation, "reduce --beams or --batch");
  };
  const SpeedReport speed;
  const PlaceOf place = [&](std::size_t i) { return args.texts.place(i); };
  const std::vector<WrittenText> outputs = with_places(place, [&] {
    return rethrow_as_usage(
        [&] { return translate_texts(opened.session, *opened.model, texts, options); });
  });
  trace.write(world);
  args.truncate.report(place, "the first");
  std::int64_t tokens = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const WrittenText& output = outputs[i];
    tokens += std::ssize(output.ids);
    if (!args.json) {
      say("{}\n", args.texts.many() ? in_one_line(output.text) : output.text);
      continue;
    }
    JsonLine line = {{"source", texts[i]}, {"text", output.text}, {"ids", output.ids}};
    if (output.score) line["score"] = rounded_score(*output.score);
    line["finish"] = choice_name(output.finish);
    say_json(line);
  }
  if (args.texts.many()) speed.done("texts", std::ssize(texts), tokens);
  return 0;
}

}  // namespace

void add_translate_command(CLI::App& app, Action& action) {
  OptionList options(app, "translate",
                     "Translate or otherwise transform texts with an encoder-decoder");
  const auto args = std::make_shared<TranslateArguments>();
  options
      .input("file", args->file,
             "a .weft file written by weft train seq2seq, or a Hugging Face folder (NLLB, M2M100, "
             "mBART, Marian, T5, BART, PEGASUS)")
      .required();
  args->texts.add(options, "texts", "texts to translate; the output of a blank text is empty");
  options.integer(
      "--beams", args->options.beams, {1, 64},
      "number of beams; 1 = greedy search (default: 1; for folders, the folder's own setting)");
  options.real(
      "--length-penalty", args->options.length_penalty, kLengthPenalties,
      "divide the scores of beams by length^F (default: 1; for folders, the folder's own setting)");
  options.integer("--batch", args->options.batch, {1, 4096}, "texts per batch (default: 64)");
  const std::string languages = "Languages";
  options
      .text("--from", args->options.languages.source,
            "language of the texts, as a code (NLLB: \"eng_Latn\"; mBART: \"en_XX\"; M2M100, T5: "
            "\"en\") or as a name (T5: \"English\")")
      .group(languages);
  options
      .text("--to", args->options.languages.target,
            "language to translate into, in the same form (such as \"de_DE\" or \"German\"; for "
            "multilingual Marian models, \"deu\")")
      .group(languages);
  options
      .text("--prefix", args->options.prefix,
            "text to add before every input (for T5, --from and --to generate a prefix)")
      .group(languages);
  args->truncate.add(options);
  options.flag(
      "--json", args->json,
      "print one JSON object per line: source, text, ids, score (only for beam search), finish");
  options.execution(args->execution);
  args->trace.add(options, "runs of the model to record (default: all)");
  options.run(action, [args, &parsed = options.command()](const World& world) {
    return run(*args, CommandPaths(parsed), world);
  });
}

}  // namespace weft::program
