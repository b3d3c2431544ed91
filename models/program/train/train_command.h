// What all commands `weft train <family>` share: options, the run itself, what it prints.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/program/commands.h"
#include "weft/models/program/field_options.h"
#include "weft/models/program/memory_guard.h"
#include "weft/models/program/options.h"
#include "weft/models/program/paths.h"
#include "weft/models/train/preset.h"
#include "weft/models/train/trainer.h"

namespace weft::program {

// One for each family: adds `weft train <family>`.
void add_train_encoder(CLI::App& train, Action& action);
void add_train_gpt(CLI::App& train, Action& action);
void add_train_seq2seq(CLI::App& train, Action& action);
void add_train_vit(CLI::App& train, Action& action);

/// Endings of what is written beside a model.
inline constexpr const char* kCurve = ".svg";
inline constexpr const char* kConfusion = ".confusion.svg";
inline constexpr const char* kAttention = ".attention.svg";
inline constexpr const char* kMeasure = ".measure.svg";
inline constexpr const char* kReconstruction = ".reconstruction.svg";
inline constexpr const char* kAdapters = ".lora.safetensors";

/// Options of every family.
struct TrainArguments {
  std::string out, best, preset, resume;
  int threads = 0;
  bool force = false;         // files of another kind may be replaced
  bool check_finite = false;  // SessionOptions::check_finite
  std::size_t memory_budget = 0;
  std::int64_t stop_after = 0;
  FieldValues model = FieldValues::object();     // fields of the config that were given
  FieldValues training = FieldValues::object();  // and of TrainSettings
  std::set<std::string> given;                   // names of all options that were given

  CommandPaths paths;  // what is read, and after plan_files what may be written
  const CLI::App* command = nullptr;
  std::string digest;  // of the data that the command reads, see data_digest

  /// Fills `given` and `paths` from the parsed command, which must outlive this.
  void remember(const CLI::App& command);
  bool has(const std::string& option) const { return given.contains(option); }
  /// UsageError that names the first of these that was given: "<option> <why>".
  void refuse(const std::vector<std::string>& options, const std::string& why) const;

  /// Where the model goes: --out, else --resume. UsageError where neither was given.
  const std::string& destination() const;
  /// Plans all that the run writes, before any work, and looks at the data for `digest`: the model,
  /// its loss curve, what goes beside it under these endings (".attention.svg"), and the best
  /// model. Throws as CommandPaths::writes.
  void plan_files(const std::vector<std::string>& plots);
  /// Plans the adapters' files of a model with adapters, beside the model and the best one.
  void plan_adapters();
  /// The planned file beside the model (or beside another planned one); "" is the model itself.
  OutputFile file(const std::string& ending) const;
  SessionOptions session_options(const TrainSettings& settings) const;
};

/// Options of the families that start from the weights of --from.
struct StartArguments {
  std::string from;
  std::vector<std::string> freeze, anew;
  double layer_lr_decay = 1;
};
/// Adds them: `from` is the help of --from, `example` a pattern of names.
void add_start_options(CLI::App& command, StartArguments& args, const std::string& from,
                       const std::string& example);

/// Pieces that a new tokenizer may have.
inline constexpr IntegerRange<std::int64_t> kVocabRange{16, 1'000'000};

/// Adds them, and one option for every field of the JSON objects of a config (but those in `skip`)
/// and of TrainSettings. `presets` is a help text, see preset_help.
void add_train_options(CLI::App& command, const std::string& presets, const std::string& config,
                       const std::set<std::string>& skip, TrainArguments& args);

/// A line for each.
template <class Config>
std::string preset_lines(const std::vector<Preset<Config>>& presets) {
  std::string lines;
  for (const auto& preset : presets) lines += "\n" + preset.name + " = " + preset.about;
  return lines;
}
/// "start from these values: ..."; the first preset is the default.
template <class Config>
std::string preset_help(const std::vector<Preset<Config>>& presets) {
  return "start from these values:" + preset_lines(presets) +
         "\n(default: " + presets.front().name + ")";
}

/// Runs `make`, whose errors of arguments are errors of usage: it depends on what was asked for
/// alone. What files and data hold fails as it is.
template <class Make>
auto as_usage(Make&& make) {
  try {
    return make();
  } catch (const ArgumentError& e) {
    throw UsageError(e.what());
  }
}

/// Runs `make`, which gives a model other weights: where they do not fit, what was asked for is
/// wrong.
template <class Make>
auto as_fitting(Make&& make) {
  return as_usage([&] {
    try {
      return make();
    } catch (const FormatError& e) {
      throw ArgumentError(e.what());
    }
  });
}

/// Throws ArgumentError for a field that was given and has no meaning beside the others.
void check_used(const TrainSettings& settings, const FieldValues& given);

/// `base` with the fields of the model that were given. UsageError for illegal values, and where
/// the model cannot be trained in this machine's memory.
template <class Config>
Config model_config(const Config& base, const TrainArguments& args) {
  Config config = as_usage([&] { return with_fields(base, args.model); });
  check_trainable_size(estimated_parameters(config));
  return config;
}

/// The preset asked for, its settings replaced by what was given. UsageError for unknown names and
/// illegal values.
template <class Config>
Preset<Config> chosen_preset(const std::vector<Preset<Config>>& presets,
                             const TrainArguments& args) {
  return as_usage([&] {
    Preset<Config> chosen =
        find_preset(presets, args.preset.empty() ? presets.front().name : args.preset);
    FieldValues training = args.training;
    // A short try of a preset warms up for a tenth of its steps, but a step at least: not every
    // schedule can do without.
    if (training.contains("steps") && !training.contains("warmup")) {
      const auto steps = training["steps"].get<std::int64_t>();
      training["warmup"] =
          std::min(chosen.training.warmup, std::max<std::int64_t>(steps > 1 ? 1 : 0, steps / 10));
    }
    chosen.training = with_fields(chosen.training, training);
    check_used(chosen.training, training);
    return chosen;
  });
}

/// A run that goes on may change how long and how often, not what a step is: UsageError that names
/// any other option that was given.
void check_resume(const TrainArguments& args);
/// Settings of a run that goes on, after check_resume.
TrainSettings resumed_settings(const TrainSettings& saved, const TrainArguments& args);

/// The lines "training" and "plan" before a run: `unit` says what a batch counts, `batch` is one.
/// UsageError where a memory budget is too small, or the machine.
/// `row` is how many values a row of the batch has; 0 where a batch counts tokens.
void print_training(const TrainSettings& settings, const std::string& unit, std::int64_t row = 0);
void print_plan(Session& session, const Program& train, const NamedTensors& batch,
                const TrainArguments& args);

struct TrainRun {
  TrainTask task;
  TrainSettings settings;
  TrainHistory history = {};  // of an earlier run
  /// Writes the model with its history so far to a file.
  std::function<void(const OutputFile& file, const TrainHistory&)> save;
  /// A line to show after an evaluation; may be empty.
  std::function<std::string()> sample = {};
  /// How the command goes on after a stop, without --resume and --out: "weft train gpt --text x".
  std::string command;
  std::string loss_unit = "nats";
};
/// A run that saves `model` with `save`.
template <class Model>
TrainRun run_of(Model& model, TrainTask task, void (*save)(const std::string&, const Model&),
                const std::string& command) {
  return {.task = std::move(task),
          .settings = model.settings,
          .history = model.history,
          .save =
              [&model, save](const OutputFile& file, const TrainHistory& history) {
                model.history = history;
                save(file.path(), model);
              },
          .command = command};
}

/// Trains with progress on the console; Ctrl-C, SIGTERM, SIGHUP and a reader of stdout that went
/// away save before it ends. Saves to args.destination(), the loss curve beside it, the best model
/// to args.best, and says so. UsageError where --best or --patience cannot be followed, and where a
/// run that goes on has other data than it began with.
TrainOutcome run_training(Session& session, const TrainRun& run, const TrainArguments& args);

/// What evaluations over that many held-out batches cover: "the whole split", "up to 20 held-out
/// batches".
std::string compared_part(std::int64_t batches);

}  // namespace weft::program
