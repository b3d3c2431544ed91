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
#include "weft/models/train/preset.h"
#include "weft/models/train/trainer.h"

namespace weft::program {

// One for each family: adds `weft train <family>`.
void add_train_encoder(CLI::App& train, Action& action);
void add_train_gpt(CLI::App& train, Action& action);
void add_train_seq2seq(CLI::App& train, Action& action);
void add_train_vit(CLI::App& train, Action& action);

/// Options of every family.
struct TrainArguments {
  std::string out, best, preset, resume;
  int threads = 0;
  std::size_t memory_budget = 0;
  std::int64_t stop_after = 0;
  FieldValues model = FieldValues::object();     // fields of the config that were given
  FieldValues training = FieldValues::object();  // and of TrainSettings
  std::set<std::string> given;                   // names of all options that were given

  /// Fills `given` from the parsed command.
  void remember(const CLI::App& command);
  bool has(const std::string& option) const { return given.contains(option); }
  /// UsageError that names the first of these that was given: "<option> <why>".
  void refuse(const std::vector<std::string>& options, const std::string& why) const;

  /// The file to write. Throws UsageError where neither --out nor --resume was given, IoError where
  /// there is no folder for it.
  std::string destination() const;
  SessionOptions session_options(const TrainSettings& settings) const;
};

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

/// Throws ArgumentError for a field that was given and has no meaning beside the others.
void check_used(const TrainSettings& settings, const FieldValues& given);

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
/// UsageError where a memory budget is too small.
void print_training(const TrainSettings& settings, const std::string& unit);
void print_plan(Session& session, const Program& train, const NamedTensors& batch,
                const TrainArguments& args);

struct TrainRun {
  TrainTask task;
  TrainSettings settings;
  TrainHistory history = {};  // of an earlier run
  /// Writes the model with its history so far to a file.
  std::function<void(const std::string& path, const TrainHistory&)> save;
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
              [&model, save](const std::string& path, const TrainHistory& history) {
                model.history = history;
                save(path, model);
              },
          .command = command};
}

/// Trains with progress on the console; Ctrl-C saves before it ends. Saves to args.destination(),
/// the loss curve beside it, the best model to args.best, and says so. UsageError where --best or
/// --patience cannot be followed.
TrainOutcome run_training(Session& session, const TrainRun& run, const TrainArguments& args);

/// What evaluations over that many held-out batches cover: "the whole split", "up to 20 held-out
/// batches".
std::string compared_part(std::int64_t batches);

/// Throws IoError where the folder that a file is to be written to does not exist: before hours of
/// training, not after them.
void check_folder(const std::string& path);
/// Writes a text file. IoError.
void write_text(const std::string& path, const std::string& text);

}  // namespace weft::program
