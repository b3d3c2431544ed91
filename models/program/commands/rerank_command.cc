// weft rerank: ranks texts for a query with a cross-encoder.
#include <memory>
#include <optional>

#include "weft/models/program/commands/commands.h"
#include "weft/models/program/commands/text_command.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/json_lines.h"

namespace weft::program {
namespace {

struct RerankArguments : TextArguments {
  std::string query;
  std::optional<std::string> label;
  std::optional<std::int64_t> top;  // default: all texts
};

void print_ranked(const RerankArguments& args, const std::vector<std::string>& texts,
                  const RankedText& found) {
  if (args.json) {
    say_json({{"text", texts[found.text]},
              {"line", static_cast<std::int64_t>(found.text) + 1},
              {"score", rounded(found.score)}});
  } else {
    say("{:.4f}  {}\n", found.score, texts[found.text]);
  }
}

int run_rerank(RerankArguments& args, const World& world) {
  const std::vector<std::string> texts = args.texts.read(world);
  ModelSession opened(Use::rerank, args.file, args.execution, world);
  const SpeedReport speed;
  TruncateOption truncate;
  truncate.allow();
  const PlaceOf place = [&](std::size_t i) { return args.texts.place(i); };
  const auto ranked = with_places(place, [&] {
    return rerank(opened.session, *opened.model, args.query, texts,
                  {.most = args.top, .label = args.label, .on_cut = truncate.on_cut()});
  });
  for (const RankedText& found : ranked) print_ranked(args, texts, found);
  truncate.report(place, "the first");
  if (args.texts.many()) speed.done("texts", std::ssize(texts));
  return 0;
}

}  // namespace

void add_rerank_command(CLI::App& app, Action& action) {
  OptionList options(app, "rerank",
                     "Rank texts by how well they match a query, with a cross-encoder, which reads "
                     "the query and one text together");
  const auto args = std::make_shared<RerankArguments>();
  options
      .input("file", args->file,
             "a Hugging Face folder with a ...ForSequenceClassification model of an encoder (a "
             "cross-encoder), or a .weft file written by weft convert or by weft train encoder "
             "--task similarity")
      .required();
  options.text("--query", args->query, "the text to which the other texts are compared").required();
  args->texts.add(options, "texts",
                  "texts to rank; pairs that exceed the model's maximum length are truncated, "
                  "starting with the longer text");
  options.integer("--top", args->top, {1, 1'000'000},
                  "number of texts to print, best first (default: all)");
  options.text("--label", args->label,
               "for models with several labels: rank the texts by the score of this label");
  options.flag("--json", args->json, "print one JSON object per line: text, line, score");
  options.execution(args->execution);
  options.run(action, [args](const World& world) { return run_rerank(*args, world); });
}

}  // namespace weft::program
