#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>

#include "weft/core/error.h"
#include "weft/models/generate/generator.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/console.h"
#include "weft/models/program/field_options.h"
#include "weft/models/train/checkpoint.h"
#include "weft/models/train/trainer.h"

namespace weft::program {
namespace {

std::atomic<bool> stop_requested{false};

/// The first Ctrl-C asks for a clean end, a second one kills.
void install_stop_handler() {
  struct sigaction action = {};
  action.sa_handler = [](int) { stop_requested.store(true); };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

struct TrainArguments {
  std::string text, out, preset, resume;
  int threads = 0;
  std::size_t memory_budget = 0;
  std::int64_t stop_after = 0;
  double dropout = -1;
  FieldValues model = FieldValues::object();
  FieldValues training = FieldValues::object();
};

/// Runs `make`, whose errors of values and fields are errors of usage.
template <class Make>
auto as_usage(Make&& make) {
  try {
    return make();
  } catch (const ArgumentError& e) {
    throw UsageError(e.what());
  } catch (const FormatError& e) {
    throw UsageError(e.what());
  }
}

/// Settings that may change when a run goes on: they say how long and how often, not what a step
/// is.
bool may_change_on_resume(const std::string& field) {
  return field == "steps" || field == "eval_every" || field == "eval_batches" ||
         field == "save_every";
}

LanguageModel resume_model(const TrainArguments& args) {
  if (!args.preset.empty()) throw UsageError("--preset cannot be given with --resume");
  if (args.dropout >= 0) throw UsageError("--dropout cannot be given with --resume");
  for (const auto& [field, value] : args.model.items()) {
    throw UsageError(fmt::format(
        "{} cannot be given with --resume: the model is the one in the file", option_name(field)));
  }
  for (const auto& [field, value] : args.training.items()) {
    if (!may_change_on_resume(field)) {
      throw UsageError(
          fmt::format("{} cannot be given with --resume: the training step is the one in the file",
                      option_name(field)));
    }
  }
  LanguageModel model = load_language_model(args.resume);
  if (!model.can_train()) {
    throw UsageError(fmt::format(
        "{} cannot be trained: its weights were quantised; resume the file it was made from",
        args.resume));
  }
  model.settings = as_usage([&] { return with_fields(model.settings, args.training); });
  return model;
}

LanguageModel new_model(const TrainArguments& args, const CharacterTokenizer& tokenizer) {
  return as_usage([&] {
    const GptPreset& preset = find_gpt_preset(args.preset.empty() ? "char-small" : args.preset);
    GptConfig config = preset.model;
    if (args.dropout >= 0)
      config.embedding_dropout = config.attention_dropout = config.residual_dropout = args.dropout;
    config.vocab = tokenizer.vocab_size();
    FieldValues training = args.training;
    // A short try of a preset warms up for a tenth of its steps.
    if (training.contains("steps") && !training.contains("warmup")) {
      training["warmup"] =
          std::min(preset.training.warmup, training["steps"].get<std::int64_t>() / 10);
    }
    return make_language_model(with_fields(config, args.model), tokenizer,
                               with_fields(preset.training, training));
  });
}

void print_summary(const LanguageModel& model, const TextData& data, Session& session,
                   const TrainArguments& args) {
  const GptConfig& c = model.config;
  const TrainSettings& s = model.settings;
  fmt::print(
      "model     GPT: {} layers, {} heads, width {}, context {}, {} characters: {} parameters\n",
      c.layers, c.heads, c.width, c.context, c.vocab, grouped(c.parameter_count()));
  fmt::print("text      {}: {} characters to train on, {} to validate\n", args.text,
             grouped(data.train_size()), grouped(data.validation_size()));
  fmt::print(
      "training  {} steps of {} x {} characters, AdamW, learning rate {:g} -> {:g}, seed {}\n",
      grouped(s.steps), s.batch, c.context, s.lr, s.min_lr, s.seed);
  const Sizes window = {s.batch, c.context};
  const auto plan = as_usage([&] {  // a budget that is too small
    return session.plan(model.programs.train, {{"tokens", window}, {"targets", window}});
  });
  const MemoryReport memory = plan->memory();
  const int threads = args.threads == 0 ? hardware_threads() : args.threads;
  fmt::print("plan      {} FLOP per step; {} of variables, {} of working memory; {} {}\n",
             short_number(plan->cost().flops), short_bytes(static_cast<double>(memory.variables)),
             short_bytes(static_cast<double>(memory.arena)), threads,
             threads == 1 ? "thread" : "threads");
  if (memory.recomputed_bytes > 0) {
    fmt::print("budget    {}: {} of results are computed again, {} FLOP per step\n",
               short_bytes(static_cast<double>(memory.budget)),
               short_bytes(static_cast<double>(memory.recomputed_bytes)),
               short_number(memory.recomputed_flops));
  }
  std::fflush(stdout);
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

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw IoError(fmt::format("cannot write {}", path));
}

int train(const TrainArguments& args) {
  if (args.text.empty()) throw UsageError("--text is required: the file to learn from");
  if (args.out.empty() && args.resume.empty())
    throw UsageError("--out is required: the file to write the model to");
  const std::string out = args.out.empty() ? args.resume : args.out;
  const std::string text = read_text_file(args.text);
  LanguageModel model = args.resume.empty() ? new_model(args, CharacterTokenizer::from_text(text))
                                            : resume_model(args);
  const TextData data(model.tokenizer.encode(text), model.settings.validation_fraction);

  Session session(
      *model.graph, model.store,
      {.seed = model.settings.seed, .threads = args.threads, .memory_budget = args.memory_budget});
  print_summary(model, data, session, args);
  Generator generator(session, model.programs.decode, model.config.context);
  ConsoleProgress progress([&] { return sample_line(model, generator); });
  install_stop_handler();
  Trainer trainer(session, model.programs.train, model.programs.evaluate, data,
                  {.window = model.config.context,
                   .settings = model.settings,
                   .history = model.history,
                   .observer = &progress,
                   .save =
                       [&](const TrainHistory& history) {
                         model.history = history;
                         save_language_model(out, model);
                       },
                   .stop = &stop_requested,
                   .stop_after = args.stop_after});
  const TrainOutcome outcome = trainer.run();
  progress.finish();

  const std::string plot = std::filesystem::path(out).replace_extension(".svg").string();
  write_text(plot, trainer.history().svg(
                       fmt::format("{}: loss", std::filesystem::path(out).stem().string())));
  fmt::print("saved     {} ({}), loss curve {}\n", out,
             short_bytes(static_cast<double>(std::filesystem::file_size(out))), plot);
  if (outcome.stopped) {
    fmt::print(
        "stopped   at step {} of {}; go on with: weft train gpt --resume {} --text {} --out {}\n",
        outcome.step, model.settings.steps, out, args.text, out);
    return 0;
  }
  if (data.validation_size() > 1) fmt::print("validation loss {:.4f}\n", outcome.validation_loss);
  return 0;
}

}  // namespace

void add_train_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("train", "Train a model");
  command->require_subcommand(1);
  CLI::App* gpt = command->add_subcommand("gpt", "Train a GPT on the characters of a text");
  const auto args = std::make_shared<TrainArguments>();
  std::string presets = "start from these values:";
  for (const GptPreset& preset : gpt_presets())
    presets += fmt::format("\n{} = {}", preset.name, preset.about);
  gpt->add_option("--text", args->text, "UTF-8 file to learn from; its end validates");
  gpt->add_option("--out", args->out,
                  "file to write (.weft); the loss curve goes beside it (.svg)");
  gpt->add_option("--preset", args->preset, presets + "\n(default: char-small)");
  gpt->add_option("--resume", args->resume, "go on with the run saved in this file");
  gpt->add_option("--threads", args->threads, "0 = all; results do not depend on it")
      ->check(CLI::Range(0, 1024));
  gpt->add_option(
         "--memory-budget", args->memory_budget,
         "most bytes of working memory (500MiB, 2GiB); what does not fit is computed again, "
         "with the same results (default: no limit)")
      ->transform(CLI::AsSizeValue(false));
  gpt->add_option("--stop-after", args->stop_after,
                  "save and end after this step, as Ctrl-C does; --resume goes on")
      ->check(CLI::NonNegativeNumber);
  gpt->add_option("--dropout", args->dropout, "all three dropout rates")
      ->check(CLI::Range(0.0, 0.99));
  add_field_options(*gpt, "Model", GptConfig{}.to_json(), {"vocab", "family"}, args->model);
  add_field_options(*gpt, "Training", TrainSettings{}.to_json(), {}, args->training);
  gpt->callback([args, &action] { action = [args] { return train(*args); }; });
}

}  // namespace weft::program
