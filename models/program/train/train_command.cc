#include "weft/models/program/train/train_command.h"

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <optional>

#include "weft/models/program/console.h"
#include "weft/models/program/data_digest.h"
#include "weft/models/program/train/best_file.h"

namespace weft::program {
namespace {

std::atomic<bool> stop_requested{false};

/// The first Ctrl-C (or SIGTERM) asks for a clean end, a second one kills. A terminal that closes
/// and a reader of stdout that goes away ask, too, as often as they like: shells send SIGHUP twice.
void install_stop_handlers() {
  const auto install = [](int signal, int flags) {
    struct sigaction action = {};
    action.sa_handler = [](int) { stop_requested.store(true); };
    action.sa_flags = flags;
    sigaction(signal, &action, nullptr);
  };
  install(SIGINT, static_cast<int>(SA_RESETHAND));
  install(SIGTERM, static_cast<int>(SA_RESETHAND));
  install(SIGPIPE, SA_RESTART);
  struct sigaction hangup = {};
  const bool nohup = sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler == SIG_IGN;
  if (!nohup) install(SIGHUP, SA_RESTART);
}

/// Settings that may change when a run goes on: they say how long and how often, not what a step
/// is.
bool may_change_on_resume(const std::string& field) {
  return field == "steps" || field == "eval_every" || field == "eval_batches" ||
         field == "save_every" || field == "patience" || field == "skip_nonfinite";
}

/// A run that goes on learns from what it began with: UsageError for other data.
void check_digest(const std::string& before, const TrainArguments& args) {
  if (before.empty() || args.digest.empty() || before == args.digest) return;
  throw UsageError(fmt::format(
      "the run in {} learned from other data than those given: it cannot go on as if they were the "
      "same (start a new training, where there is --from with the weights of this one)",
      args.resume));
}

}  // namespace

void TrainArguments::remember(const CLI::App& parsed) {
  command = &parsed;
  for (const CLI::Option* option : parsed.get_options()) {
    if (option->count() > 0) given.insert(option->get_name());
  }
  paths = CommandPaths(parsed, force);
}

const std::string& TrainArguments::destination() const {
  if (out.empty() && resume.empty())
    throw UsageError("--out is required: the file to write the model to");
  return out.empty() ? resume : out;
}

void TrainArguments::plan_files(const std::vector<std::string>& plots) {
  const std::string& path = destination();
  // Written over the file that the run goes on from, the model is that run's next state.
  if (!resume.empty() && (out.empty() || same_file(out, resume))) {
    paths.continues(out.empty() ? "--resume" : "--out", path, "--resume");
  } else {
    paths.writes("--out", path, FileKind::model);
  }
  const auto plan_beside = [&](const std::string& ending) {
    paths.writes("the plot", beside(path, ending), FileKind::plot);
  };
  plan_beside(kCurve);
  for (const std::string& ending : plots) plan_beside(ending);
  if (!best.empty()) paths.writes("--best", best, FileKind::model);
  digest = data_digest(*command, {"--resume", "--from"});
}

void TrainArguments::plan_adapters() {
  for (const std::string& model : {destination(), best}) {
    if (!model.empty()) paths.writes("the adapters", beside(model, kAdapters), FileKind::adapters);
  }
}

OutputFile TrainArguments::file(const std::string& ending) const {
  return paths.planned(ending.empty() ? destination() : beside(destination(), ending));
}

void TrainArguments::refuse(const std::vector<std::string>& options, const std::string& why) const {
  for (const std::string& option : options) {
    if (has(option)) throw UsageError(fmt::format("{} {}", option, why));
  }
}

SessionOptions TrainArguments::session_options(const TrainSettings& settings) const {
  if (check_finite && settings.skip_nonfinite > 0) {
    throw UsageError(
        "--check-finite ends a run where a NaN or an infinity is made, --skip-nonfinite goes on: "
        "give one of them");
  }
  return {.seed = settings.seed,
          .threads = threads,
          .memory_budget = memory_budget,
          .check_finite = check_finite};
}

void add_train_options(CLI::App& command, const std::string& presets, const std::string& config,
                       const std::set<std::string>& skip, TrainArguments& args) {
  OptionList options(command);
  options.output("--out", args.out, "file to write (.weft); the loss curve goes beside it (.svg)");
  options.output("--best", args.best,
                 "also write the model to this file whenever its validation loss is the lowest "
                 "so far: a model that learns its text by heart gets worse later");
  options.flag("--force", args.force, "replace files of another kind that have these names");
  options.text("--preset", args.preset, presets);
  options.input("--resume", args.resume, "go on with the run saved in this file");
  options.threads(args.threads);
  options.bytes("--memory-budget", args.memory_budget,
                "most bytes of working memory (500MiB, 2GiB); what does not fit is computed "
                "again, with the same results (default: no limit)");
  options.flag("--check-finite", args.check_finite,
               "end at the first operation that makes a NaN or an infinity of finite numbers, and "
               "name it, its place and its operands (slower)");
  options.integer("--stop-after", args.stop_after, kFromZero,
                  "save and end after this step, as Ctrl-C does; --resume goes on");
  add_field_options(command, "Model", config, skip, args.model);
  add_field_options(command, "Training", TrainSettings{}.to_json(), {}, args.training);
}

void add_start_options(CLI::App& command, StartArguments& args, const std::string& from,
                       const std::string& example) {
  OptionList options(command);
  options.input("--from", args.from, from);
  options.texts("--new", args.anew, OptionList::Times::list,
                "patterns of parameters that start anew though --from has them");
  options.texts("--freeze", args.freeze, OptionList::Times::list,
                fmt::format("patterns of parameters that stay as they are: \"{}\"", example));
  options.real("--layer-lr-decay", args.layer_lr_decay, kAboveZeroToOne,
               "every layer learns at this share of the rate of the one above (default 1)");
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

void print_training(const TrainSettings& s, const std::string& unit, std::int64_t row) {
  constexpr double kBytesEach = 8;  // inputs and targets
  check_memory("a batch", kBytesEach * static_cast<double>(s.batch) * static_cast<double>(row),
               "--batch makes it smaller");
  say("training  {} steps of {} {}, AdamW, learning rate {:g}", grouped(s.steps), s.batch, unit,
      s.lr);
  if (s.schedule == LearningRate::cosine || s.schedule == LearningRate::linear)
    say(" -> {:g}", s.min_lr);
  if (s.patience > 0) say(", patience {}", s.patience);
  say(", seed {}\n", s.seed);
}

void print_plan(Session& session, const Program& train, const NamedTensors& batch,
                const TrainArguments& args) {
  std::vector<std::pair<std::string, Sizes>> sizes;
  for (const auto& [name, tensor] : batch) sizes.emplace_back(name, tensor.sizes());
  const auto plan = as_usage([&] { return session.plan(train, sizes); });
  const MemoryReport memory = plan->memory();
  check_memory("a training step",
               static_cast<double>(memory.variables) + static_cast<double>(memory.arena) +
                   static_cast<double>(memory.outputs),
               "a smaller --batch and model or a --memory-budget take less");
  const int threads = args.threads == 0 ? hardware_threads() : args.threads;
  say("plan      {} FLOP per step; {} of variables, {} of working memory; {} {}\n",
      short_number(plan->cost().flops), short_bytes(static_cast<double>(memory.variables)),
      short_bytes(static_cast<double>(memory.arena)), threads, threads == 1 ? "thread" : "threads");
  if (memory.recomputed_bytes > 0) {
    say("budget    {}: {} of results are computed again, {} FLOP per step\n",
        short_bytes(static_cast<double>(memory.budget)),
        short_bytes(static_cast<double>(memory.recomputed_bytes)),
        short_number(memory.recomputed_flops));
  }
  flush_stdout();
}

std::string compared_part(std::int64_t batches) {
  return batches == 0 ? "the whole split" : fmt::format("up to {} held-out batches", batches);
}

TrainOutcome run_training(Session& session, const TrainRun& run, const TrainArguments& args) {
  const std::string& out = args.destination();
  const OutputFile model = args.file(""), plot = args.file(kCurve);
  check_digest(run.history.data, args);
  TrainHistory history = run.history;
  history.data = args.digest;
  ConsoleProgress progress(run.sample);
  std::optional<BestFile> best;
  if (!args.best.empty()) best.emplace(args.paths.planned(args.best), out, run);
  Trainer::Options options{.settings = run.settings,
                           .history = std::move(history),
                           .observer = &progress,
                           .save = [&](const TrainHistory& now) { run.save(model, now); },
                           .stop = &stop_requested,
                           .stop_after = args.stop_after};
  if (best) options.save_best = [&](const TrainHistory& now) { best->save(now); };
  Trainer trainer = as_usage([&] { return Trainer(session, run.task, std::move(options)); });
  const std::int64_t batches = run.settings.compared_batches();
  if ((best || run.settings.patience > 0) && !run.history.validation.empty() &&
      std::isnan(run.history.best(batches).loss)) {
    say("compared  are evaluations over {}: none of the earlier ones is\n", compared_part(batches));
  }
  install_stop_handlers();
  const TrainOutcome outcome = trainer.run();
  progress.finish();

  write_text(plot, trainer.history().svg(fmt::format("{}: loss", model_name(out)), run.loss_unit));
  say("saved     {} ({}), loss curve {}\n", out,
      short_bytes(static_cast<double>(std::filesystem::file_size(out))), plot.path());
  if (best) best->print(outcome.best);
  const std::string resume = fmt::format("go on with: {} --resume {} --out {}{}", run.command, out,
                                         out, best ? " --best " + args.best : "");
  if (outcome.stopped)
    say("stopped   at step {} of {}; {}\n", outcome.step, run.settings.steps, resume);
  if (outcome.out_of_patience) {
    say("patience  ended the run at step {} of {}: {} evaluations in a row were no better; {} "
        "--patience {}\n",
        outcome.step, run.settings.steps, outcome.best.since, resume, 2 * run.settings.patience);
  }
  if (outcome.skipped > 0) say("skipped   {} steps that were not finite\n", outcome.skipped);
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
