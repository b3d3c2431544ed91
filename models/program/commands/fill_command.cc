// weft fill: predicts the masked words of texts.
#include <fmt/format.h>

#include <memory>

#include "weft/models/program/commands/commands.h"
#include "weft/models/program/distributed/ranks.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/options/text_inputs.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/json_lines.h"
#include "weft/models/tasks/tasks.h"

namespace weft::program {
namespace {

struct FillArguments {
  std::string file;
  TextInputs texts;
  TruncateOption truncate;
  std::int64_t top = 5;
  bool json = false;
  int threads = 0;
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
  const std::vector<std::string> texts = args.texts.read(world);
  const auto model =
      on_all_ranks(world, [&] { return load_model_for(Use::fill, args.file).model; });
  Session session(
      *model->graph, model->store,
      session_options(*model, {.threads = threads_of_rank(world, args.threads), .world = world}));
  const SpeedReport speed;
  const PlaceOf place = [&](std::size_t i) { return args.texts.place(i); };
  const auto found = with_places(place, [&] {
    return fill(session, *model, texts, {.most = args.top, .on_cut = args.truncate.on_cut()});
  });
  for (std::size_t i = 0; i < texts.size(); ++i)
    (args.json ? print_places_json : print_places)(texts[i], found[i]);
  args.truncate.report(place, "the first");
  if (args.texts.many()) speed.done("texts", static_cast<std::int64_t>(texts.size()));
  return 0;
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
  options.threads(args->threads);
  options.run(action, [args](const World& world) { return run_fill(*args, world); });
}

}  // namespace weft::program
