// weft train gpt: a language model of the characters of a text.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "weft/models/generate/generator.h"
#include "weft/models/program/console.h"
#include "weft/models/program/train/train_command.h"
#include "weft/models/train/evaluate.h"
#include "weft/models/train/gpt_presets.h"
#include "weft/models/train/lora_file.h"

namespace weft::program {
namespace {

struct GptArguments : TrainArguments {
  std::string text, from;
  std::vector<std::string> freeze;
  double dropout = -1, layer_lr_decay = 1;
  LoraOptions lora{.rank = 0};  // 0 = all weights are trained
};

LanguageModel resume_model(const GptArguments& args) {
  args.refuse({"--dropout", "--freeze", "--layer-lr-decay"},
              "cannot be given with --resume: it is as the file says");
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
  GptConfig config = preset.model;
  if (args.dropout >= 0)
    config.embedding_dropout = config.attention_dropout = config.residual_dropout = args.dropout;
  config.vocab = tokenizer.vocab_size();
  config = model_config(config, args);
  return as_usage([&] {
    return make_language_model(config, tokenizer, preset.training,
                               {args.freeze, args.layer_lr_decay});
  });
}

LanguageModel adapted_model(const GptArguments& args) {
  if (!args.model.empty() || args.dropout >= 0) {
    throw UsageError(fmt::format(
        "{} cannot be given with --from: the model is the one in the file",
        args.model.empty() ? "--dropout" : option_name(args.model.items().begin().key())));
  }
  const LanguageModel base = load_language_model(args.from);
  const Preset<GptConfig> preset = chosen_preset(gpt_presets(), args);
  LanguageModel model = as_usage([&] {
    return start_from(base, preset.training,
                      args.lora.rank > 0 ? std::optional(args.lora) : std::nullopt,
                      {args.freeze, args.layer_lr_decay});
  });
  say("from      {}: config, characters and weights; of preset {} the training settings only\n",
      args.from, preset.name);
  return model;
}

/// One line of text from the model as it is now, with line breaks shown as spaces.
std::string sample_line(const LanguageModel& model, Generator& generator) {
  const auto start = model.tokenizer.encode(model.tokenizer.start_text());
  const GenerationOptions options{
      .max_new = 72,
      .sampling = SamplingOptions{.temperature = 0.8, .seed = model.settings.seed},
      .slide = true};
  const TokenIds text =
      generator.generate({TokenIds(start.begin(), start.end())}, options).sequences.front();
  const std::vector<std::int32_t> fresh(text.begin() + static_cast<long>(start.size()), text.end());
  std::string line = model.tokenizer.decode(fresh);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return line;
}

int train(GptArguments args) {
  if (args.text.empty()) throw UsageError("--text is required: the file to learn from");
  args.plan_files({});
  const std::string text = read_utf8_file(args.text);
  if (!args.from.empty() && !args.resume.empty())
    throw UsageError("--from starts a new training, --resume goes on with one: give one of them");
  if (args.from.empty() && args.lora.rank > 0)
    throw UsageError("--lora-rank needs --from: the file with the model that gets adapters");
  LanguageModel model = !args.resume.empty() ? resume_model(args)
                        : !args.from.empty() ? adapted_model(args)
                                             : new_model(args, CharacterTokenizer::from_text(text));
  if (model.lora) args.plan_adapters();
  const GptConfig& c = model.config;
  const TextData data(model.tokenizer.encode(text), model.settings.validation_fraction);

  Session session(*model.graph, model.store, args.session_options(model.settings));
  say("model     GPT: {} layers, {} heads, width {}, context {}, {} characters: {} parameters\n",
      c.layers, c.heads, c.width, c.context, c.vocab, grouped(c.parameter_count()));
  if (model.lora) {
    std::int64_t trained = 0;
    for (const Variable& v : model.graph->parameters())
      trained += v.shape()[0].constant() * v.shape()[1].constant();
    say("adapters  of rank {}, alpha {:g}: {} parameters are trained\n", model.lora->rank,
        model.lora->alpha, grouped(trained));
  }
  say("text      {}: {} characters to train on, {} to validate\n", args.text,
      grouped(data.train_size()), grouped(data.validation_size()));
  print_training(model.settings, fmt::format("x {} characters", c.context), c.context);
  const TrainTask task = text_task(session, model.programs, data, c.context, model.settings);
  print_plan(session, model.programs.train, task.batch(0).inputs, args);

  Generator generator(session, model.programs.decode, c);
  const TrainOutcome outcome =
      run_training(session,
                   {.task = task,
                    .settings = model.settings,
                    .history = model.history,
                    .save =
                        [&](const OutputFile& file, const TrainHistory& history) {
                          model.history = history;
                          save_language_model(file.path(), model);
                          if (!model.lora) return;
                          const std::string adapters = beside(file.path(), kAdapters);
                          save_lora(args.paths.planned(adapters).path(), lora_adapters(model));
                        },
                    .sample = [&] { return sample_line(model, generator); },
                    .command = "weft train gpt --text " + args.text},
                   args);
  if (model.lora) {
    say("adapters  {}; weft merge adds them to a model\n", args.file(kAdapters).path());
  }
  if (!outcome.stopped && task.evaluate) say("validation loss {:.4f}\n", outcome.evaluation.loss);
  return 0;
}

}  // namespace

void add_train_gpt(CLI::App& app, Action& action) {
  CLI::App* gpt = app.add_subcommand("gpt", "Train a GPT on the characters of a text");
  const auto args = std::make_shared<GptArguments>();
  OptionList options(*gpt);
  options.input("--text", args->text, "UTF-8 file to learn from; its end validates");
  options.real("--dropout", args->dropout, {0, 0.99}, "all three dropout rates");
  options.input("--from", args->from,
                "start from the weights of this file, with its config and tokenizer; of a "
                "--preset only the training settings are used");
  CLI::Option* rank = options.integer(
      "--lora-rank", args->lora.rank, {1, 65536},
      "with --from: train low-rank adapters of this rank, not the weights themselves");
  options
      .real("--lora-alpha", args->lora.alpha, {0, 1e6, true},
            "what adapters give is scaled by alpha / rank")
      ->needs(rank);
  options.real("--lora-dropout", args->lora.dropout, {0, 0.99}, "dropout of the adapters' inputs")
      ->needs(rank);
  args->lora.patterns.clear();
  options
      .texts("--lora-only", args->lora.patterns, OptionList::Times::list,
             "adapters for matrices of these names only (*, ?)")
      ->needs(rank);
  options.texts("--freeze", args->freeze, OptionList::Times::list,
                "patterns of parameters that stay as they are: \"layers.0.*\"");
  options.real("--layer-lr-decay", args->layer_lr_decay, kAboveZeroToOne,
               "every layer learns at this share of the rate of the one above (default 1)");
  add_train_options(*gpt, preset_help(gpt_presets()), GptConfig{}.to_json(), {"vocab", "family"},
                    *args);
  gpt->callback([args, gpt, &action] {
    args->remember(*gpt);
    if (args->lora.patterns.empty()) args->lora.patterns = {"*"};
    action = [args] { return train(*args); };
  });
}

}  // namespace weft::program
