// weft train gpt: a language model of the characters of a text.
#include <fmt/format.h>

#include <memory>

#include "weft/models/generate/generator.h"
#include "weft/models/program/console.h"
#include "weft/models/program/train/train_command.h"
#include "weft/models/train/evaluate.h"
#include "weft/models/train/gpt_presets.h"

namespace weft::program {
namespace {

struct GptArguments : TrainArguments {
  std::string text;
  double dropout = -1;
};

LanguageModel resume_model(const GptArguments& args) {
  if (args.dropout >= 0) throw UsageError("--dropout cannot be given with --resume");
  check_resume(args);
  LanguageModel model = load_language_model(args.resume);
  if (!model.can_train()) {
    throw UsageError(fmt::format(
        "{} cannot be trained: its weights were quantised; resume the file it was made from",
        args.resume));
  }
  model.settings = resumed_settings(model.settings, args);
  return model;
}

LanguageModel new_model(const GptArguments& args, const CharacterTokenizer& tokenizer) {
  const Preset<GptConfig> preset = chosen_preset(gpt_presets(), args);
  return as_usage([&] {
    GptConfig config = preset.model;
    if (args.dropout >= 0)
      config.embedding_dropout = config.attention_dropout = config.residual_dropout = args.dropout;
    config.vocab = tokenizer.vocab_size();
    return make_language_model(with_fields(config, args.model), tokenizer, preset.training);
  });
}

/// One line of text from the model as it is now, with line breaks shown as spaces.
std::string sample_line(const LanguageModel& model, Generator& generator) {
  const auto start = model.tokenizer.encode(model.tokenizer.start_text());
  const auto ids = generator.generate(start, 72, {.temperature = 0.8, .seed = model.settings.seed});
  std::string line = model.tokenizer.decode(ids);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return line;
}

int train(const GptArguments& args) {
  if (args.text.empty()) throw UsageError("--text is required: the file to learn from");
  args.destination();
  const std::string text = read_text_file(args.text);
  LanguageModel model = args.resume.empty() ? new_model(args, CharacterTokenizer::from_text(text))
                                            : resume_model(args);
  const GptConfig& c = model.config;
  const TextData data(model.tokenizer.encode(text), model.settings.validation_fraction);

  Session session(*model.graph, model.store, args.session_options(model.settings));
  fmt::print(
      "model     GPT: {} layers, {} heads, width {}, context {}, {} characters: {} parameters\n",
      c.layers, c.heads, c.width, c.context, c.vocab, grouped(c.parameter_count()));
  fmt::print("text      {}: {} characters to train on, {} to validate\n", args.text,
             grouped(data.train_size()), grouped(data.validation_size()));
  print_training(model.settings, fmt::format("x {} characters", c.context));
  const TrainTask task = text_task(session, model.programs, data, c.context, model.settings);
  print_plan(session, model.programs.train, task.batch(0).inputs, args);

  Generator generator(session, model.programs.decode, c.context);
  const TrainOutcome outcome =
      run_training(session,
                   {.task = task,
                    .settings = model.settings,
                    .history = model.history,
                    .save =
                        [&](const std::string& path, const TrainHistory& history) {
                          model.history = history;
                          save_language_model(path, model);
                        },
                    .sample = [&] { return sample_line(model, generator); },
                    .command = "weft train gpt --text " + args.text},
                   args);
  if (!outcome.stopped && task.evaluate)
    fmt::print("validation loss {:.4f}\n", outcome.evaluation.loss);
  return 0;
}

}  // namespace

void add_train_gpt(CLI::App& app, Action& action) {
  CLI::App* gpt = app.add_subcommand("gpt", "Train a GPT on the characters of a text");
  const auto args = std::make_shared<GptArguments>();
  gpt->add_option("--text", args->text, "UTF-8 file to learn from; its end validates");
  gpt->add_option("--dropout", args->dropout, "all three dropout rates")
      ->check(CLI::Range(0.0, 0.99));
  add_train_options(*gpt, preset_help(gpt_presets()), GptConfig{}.to_json(), {"vocab", "family"},
                    *args);
  gpt->callback([args, &action] { action = [args] { return train(*args); }; });
}

}  // namespace weft::program
