// weft fill: predicts the masked words of texts.

#include <memory>

#include "weft/models/program/commands/commands.h"
#include "weft/models/program/commands/text_command.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/json_lines.h"

namespace weft::program {
namespace {

struct FillArguments : TextArguments {
  std::int64_t top = 5;
};

void print_places(const std::string& text, const std::vector<MaskedPosition>& places) {
  say("{}\n", text);
  for (const MaskedPosition& place : places) {
    say(" ");
    for (const TokenCandidate& guess : place.guesses)
      say("  {} {:.4f}", guess.text, guess.probability);
    say("\n");
  }
}

void print_places_json(const std::string& text, const std::vector<MaskedPosition>& places) {
  JsonLine all = JsonLine::array();
  for (const MaskedPosition& place : places) {
    JsonLine guesses = JsonLine::array();
    for (const TokenCandidate& guess : place.guesses)
      guesses.push_back(
          {{"text", guess.text}, {"id", guess.id}, {"probability", rounded(guess.probability)}});
    all.push_back({{"begin", place.begin}, {"end", place.end}, {"guesses", std::move(guesses)}});
  }
  say_json({{"text", text}, {"hidden", std::move(all)}});
}

int run_fill(FillArguments& args, const World& world) {
  return run_on_texts(
      args, Use::fill, "texts", world,
      [&](Session& session, const TrainedModel& model, const std::vector<std::string>& texts) {
        return fill(session, model, texts, {.most = args.top, .on_cut = args.truncate.on_cut()});
      },
      args.json ? print_places_json : print_places);
}

}  // namespace

void add_fill_command(CLI::App& app, Action& action) {
  OptionList options(app, "fill", "Predict the masked words of texts, one line per masked word");
  const auto args = std::make_shared<FillArguments>();
  options
      .input("file", args->file,
             "a .weft file written by weft train encoder (mlm, mlm+nsp, mlm+sop, rtd), or a "
             "Hugging Face folder with a ...ForMaskedLM model")
      .required();
  args->texts.add(options, "texts",
                  "texts with masked words: \"she lives in [MASK] .\" (or the mask token of the "
                  "tokenizer: <mask>)");
  options.integer("--top", args->top, {1, 1'000'000},
                  "number of words to print, most likely first (default 5)");
  args->truncate.add(options);
  options.flag("--json", args->json, "print one JSON object per line: text, hidden");
  options.execution(args->execution);
  options.run(action, [args](const World& world) { return run_fill(*args, world); });
}

}  // namespace weft::program
