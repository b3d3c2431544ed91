#include "weft/models/program/train/train_command.h"

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

#include "weft/models/program/console.h"
#include "weft/models/program/train/best_file.h"

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

/// Settings that may change when a run goes on: they say how long and how often, not what a step
/// is.
bool may_change_on_resume(const std::string& field) {
  return field == "steps" || field == "eval_every" || field == "eval_batches" ||
         field == "save_every" || field == "patience" || field == "skip_nonfinite";
}

}  // namespace

std::string TrainArguments::destination() const {
  if (out.empty() && resume.empty())
    throw UsageError("--out is required: the file to write the model to");
  const std::string path = out.empty() ? resume : out;
  check_folder(path);
  return path;
}

void TrainArguments::remember(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() > 0) given.insert(option->get_name());
  }
}

void TrainArguments::refuse(const std::vector<std::string>& options, const std::string& why) const {
  for (const std::string& option : options) {
    if (has(option)) throw UsageError(fmt::format("{} {}", option, why));
  }
}

SessionOptions TrainArguments::session_options(const TrainSettings& settings) const {
  return {.seed = settings.seed, .threads = threads, .memory_budget = memory_budget};
}

void add_train_options(CLI::App& command, const std::string& presets, const std::string& config,
                       const std::set<std::string>& skip, TrainArguments& args) {
  command.add_option("--out", args.out,
                     "file to write (.weft); the loss curve goes beside it (.svg)");
  command.add_option("--best", args.best,
                     "also write the model to this file whenever its validation loss is the lowest "
                     "so far: a model that learns its text by heart gets worse later");
  command.add_option("--preset", args.preset, presets);
  command.add_option("--resume", args.resume, "go on with the run saved in this file");
  command.add_option("--threads", args.threads, "0 = all; results do not depend on it")
      ->check(CLI::Range(0, 1024));
  command
      .add_option("--memory-budget", args.memory_budget,
                  "most bytes of working memory (500MiB, 2GiB); what does not fit is computed "
                  "again, with the same results (default: no limit)")
      ->transform(CLI::AsSizeValue(false));
  command
      .add_option("--stop-after", args.stop_after,
                  "save and end after this step, as Ctrl-C does; --resume goes on")
      ->check(CLI::NonNegativeNumber);
  add_field_options(command, "Model", config, skip, args.model);
  add_field_options(command, "Training", TrainSettings{}.to_json(), {}, args.training);
}

void check_used(const TrainSettings& settings, const FieldValues& given) {
  const LearningRate schedule = settings.schedule;
  if (given.contains("min_lr") && schedule != LearningRate::cosine &&
      schedule != LearningRate::linear) {
    throw ArgumentError(
        fmt::format("--min-lr is where a cosine or linear schedule ends; the schedule is {}",
                    field_name(schedule)));
  }
}

void check_resume(const TrainArguments& args) {
  if (!args.preset.empty()) throw UsageError("--preset cannot be given with --resume");
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
}

TrainSettings resumed_settings(const TrainSettings& saved, const TrainArguments& args) {
  return as_usage([&] { return with_fields(saved, args.training); });
}

void print_training(const TrainSettings& s, const std::string& unit) {
  fmt::print("training  {} steps of {} {}, AdamW, learning rate {:g}", grouped(s.steps), s.batch,
             unit, s.lr);
  if (s.schedule == LearningRate::cosine || s.schedule == LearningRate::linear)
    fmt::print(" -> {:g}", s.min_lr);
  if (s.patience > 0) fmt::print(", patience {}", s.patience);
  fmt::print(", seed {}\n", s.seed);
}

void print_plan(Session& session, const Program& train, const NamedTensors& batch,
                const TrainArguments& args) {
  std::vector<std::pair<std::string, Sizes>> sizes;
  for (const auto& [name, tensor] : batch) sizes.emplace_back(name, tensor.sizes());
  const auto plan = as_usage([&] { return session.plan(train, sizes); });
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

std::string compared_part(std::int64_t batches) {
  return batches == 0 ? "the whole split" : fmt::format("up to {} held-out batches", batches);
}

void check_folder(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder))
    throw IoError(fmt::format("cannot write {}: there is no folder {}", path, folder.string()));
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw IoError(fmt::format("cannot write {}", path));
}

TrainOutcome run_training(Session& session, const TrainRun& run, const TrainArguments& args) {
  const std::string out = args.destination();
  ConsoleProgress progress(run.sample);
  std::optional<BestFile> best;
  if (!args.best.empty()) best.emplace(args.best, out, run);
  Trainer::Options options{.settings = run.settings,
                           .history = run.history,
                           .observer = &progress,
                           .save = [&](const TrainHistory& history) { run.save(out, history); },
                           .stop = &stop_requested,
                           .stop_after = args.stop_after};
  if (best) options.save_best = [&](const TrainHistory& history) { best->save(history); };
  Trainer trainer = as_usage([&] { return Trainer(session, run.task, std::move(options)); });
  const std::int64_t batches = run.settings.compared_batches();
  if ((best || run.settings.patience > 0) && !run.history.validation.empty() &&
      std::isnan(run.history.best(batches).loss)) {
    fmt::print("compared  are evaluations over {}: none of the earlier ones is\n",
               compared_part(batches));
  }
  install_stop_handler();
  const TrainOutcome outcome = trainer.run();
  progress.finish();

  const std::string plot = std::filesystem::path(out).replace_extension(".svg").string();
  write_text(plot, trainer.history().svg(
                       fmt::format("{}: loss", std::filesystem::path(out).stem().string()),
                       run.loss_unit));
  fmt::print("saved     {} ({}), loss curve {}\n", out,
             short_bytes(static_cast<double>(std::filesystem::file_size(out))), plot);
  if (best) best->print(outcome.best);
  const std::string resume = fmt::format("go on with: {} --resume {} --out {}{}", run.command, out,
                                         out, best ? " --best " + args.best : "");
  if (outcome.stopped)
    fmt::print("stopped   at step {} of {}; {}\n", outcome.step, run.settings.steps, resume);
  if (outcome.out_of_patience) {
    fmt::print(
        "patience  ended the run at step {} of {}: {} evaluations in a row were no better; {} "
        "--patience {}\n",
        outcome.step, run.settings.steps, outcome.best.since, resume, 2 * run.settings.patience);
  }
  if (outcome.skipped > 0) fmt::print("skipped   {} steps that were not finite\n", outcome.skipped);
  if (!outcome.stopped && run.task.evaluate && !std::isfinite(outcome.evaluation.loss)) {
    throw DataError(fmt::format(
        "the validation loss of step {} is {}, though every parameter of {} is finite: training "
        "has diverged; try a lower learning rate (--lr)",
        outcome.step, outcome.evaluation.loss, out));
  }
  return outcome;
}

void add_train_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("train", "Train a model");
  command->require_subcommand(1);
  add_train_encoder(*command, action);
  add_train_gpt(*command, action);
  add_train_seq2seq(*command, action);
  add_train_vit(*command, action);
}

}  // namespace weft::program
