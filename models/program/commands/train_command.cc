// weft train FAMILY: trains models of all families and tasks.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/models/hf/adapters/adapter_folder.h"
#include "weft/models/program/commands/model_files.h"
#include "weft/models/program/commands/train_arguments.h"
#include "weft/models/program/commands/training_lines.h"
#include "weft/models/program/distributed/ranks.h"
#include "weft/models/program/files/averages.h"
#include "weft/models/program/files/best_file.h"
#include "weft/models/program/files/log_file.h"
#include "weft/models/program/files/run_lock.h"
#include "weft/models/program/files/tensorboard_options.h"
#include "weft/models/program/limits/memory_guard.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/options/task_options.h"
#include "weft/models/program/options/text_inputs.h"
#include "weft/models/program/terminal/console.h"
#include "weft/models/program/terminal/stop_signals.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/tasks/adapted_models.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/tensorboard/tensorboard_log.h"
#include "weft/models/training/adapters.h"
#include "weft/models/training/trainable.h"
#include "weft/models/training/training_step.h"
#include "weft/serialization/sharded_checkpoint.h"

namespace weft::program {
namespace {

/// Returns the selected task, which is --task or by default the first task of the family. For a
/// resumed run, returns the task and the model from the --resume file.
LoadedModel chosen_task(const TrainArguments& args, const std::vector<const Task*>& tasks) {
  const auto named = std::find_if(tasks.begin(), tasks.end(),
                                  [&](const Task* task) { return task->info().name == args.task; });
  if (args.resume.empty()) return {named == tasks.end() ? *tasks.front() : **named, nullptr};
  ModelPath resumed(args.resume);
  resumed.verify = args.from.verify;
  LoadedModel loaded = load_any_model(resumed);
  const TaskInfo& info = loaded.task.info();
  if (info.family != args.family) {
    throw UsageError(
        fmt::format("{} was not trained by weft train {}: resume it with weft train {}",
                    args.resume, args.family, info.family));
  }
  if (named != tasks.end() && *named != &loaded.task) {
    throw UsageError(
        fmt::format("--task {} cannot be given with --resume: {} was trained with --task {}",
                    args.task, args.resume, info.name));
  }
  return loaded;
}

/// Checks for contradictory options, before any file is read.
void check_options(const TrainArguments& args, const Task& task,
                   const std::vector<const Task*>& tasks) {
  check_task_options(task, tasks, args.values);
  if (!args.resume.empty()) return;  // see check_resume()
  if (args.from.path.empty()) {
    args.refuse({"--reinit"}, "needs --from");
    args.refuse({"--verify"}, "needs --from or --resume, which name the model to verify");
    args.refuse({"--lora-rank", "--adapters"}, "needs --from, which names the model to adapt");
    return;
  }
  if (!args.adapters.empty()) {
    args.refuse({"--lora-rank"},
                "cannot be given with existing adapters, whose ranks are those of their files");
  }
  for (const TaskOption& option : task.options().options) {
    if (option.new_models_only)
      args.refuse({option.name},
                  "cannot be given with --from, because the tokenizer of that model is used");
  }
}

std::unique_ptr<TaskRun> resumed_run(const TrainArguments& args, const Task& task,
                                     std::unique_ptr<TrainedModel> model) {
  if (!model->can_train()) {
    throw UsageError(fmt::format(
        "{} cannot be trained: {}; resume the file that it was made from", args.resume,
        is_quantized(*model->graph)
            ? "its weights were quantised (--from with --lora-rank trains adapters on top of them)"
            : "it was converted for inference (--inference), its weights were averaged, or "
              "adapters were merged into quantised weights"));
  }
  model->settings = rethrow_as_usage(
      [&] { return TrainSettings::fields().with(model->settings, args.training); });
  return rethrow_as_usage([&] { return task.open(std::move(model), args.values); });
}

std::unique_ptr<TaskRun> new_run(const TrainArguments& args, const Task& task) {
  return rethrow_as_usage([&] {
    TaskArguments asked{.options = args.values,
                        .preset = args.preset,
                        .model = args.model,
                        .training = args.training,
                        .from = {},
                        .reinit = args.reinit,
                        .check_size = {}};
    // With adapters, the weights are frozen. They need no gradients or moments, and they may be
    // quantised.
    if (!args.trains_adapters()) {
      asked.check_size = [](const FamilyConfig& config) {
        check_trainable_size(
            std::visit([](const auto& c) { return estimated_parameters(c); }, config));
      };
    }
    if (!args.from.path.empty()) {
      asked.from =
          load_pretrained(hf::base_of_adapters(args.from, args.adapters), args.trains_adapters());
    }
    if (std::filesystem::is_directory(args.adapters) && asked.from) {
      if (FolderTokenizer own = read_tokenizer_folder(args.adapters); own.tokenizer)
        asked.from->text = std::move(own);
    }
    std::unique_ptr<TaskRun> run = task.start(asked);
    TrainedModel& model = run->model();
    const std::vector<std::string> fresh =
        run->loaded ? run->loaded->newly_initialised() : std::vector<std::string>{};
    if (!args.adapters.empty()) {
      TrainedAdapters adapters =
          read_adapters({args.adapters, args.from.ignored_keys}, model, task);
      adapters.options.base_model = args.from.path;
      add_adapters(model, adapters, fresh);
    } else if (args.lora.rank > 0) {
      LoraOptions lora = args.lora;
      lora.base_model = args.from.path;
      add_adapters(model, lora, fresh);
    }
    make_trainable(model, {args.freeze, args.layer_lr_decay});
    return run;
  });
}

/// Throws UsageError if a resumed run is given different training data than before.
void check_digest(const std::string& before, const TrainArguments& args) {
  if (before.empty() || args.digest.empty() || before == args.digest) return;
  throw UsageError(
      fmt::format("the run in {} was trained on different data and cannot continue on the given "
                  "data (use --from to start a new training run from its weights)",
                  args.resume));
}

/// Throws UsageError if there are more ranks than shards. The message names a valid number.
void check_ranks(const TrainArguments& args, const TrainSettings& settings) {
  const int ranks = args.world.size();
  if (ranks <= settings.shards) return;
  if (!args.resume.empty()) {
    throw UsageError(
        fmt::format("the run in {} has {}, which is too few for {} ranks: start at most {} ranks",
                    args.resume, counted(settings.shards, "shards"), ranks, settings.shards));
  }
  const std::int64_t enough = std::bit_ceil(static_cast<std::uint64_t>(ranks));
  throw UsageError(fmt::format(
      "{} ranks are too many for {}: set --shards to {}{}, or to a higher value to balance the "
      "work better",
      ranks, counted(settings.shards, "shards"), enough,
      enough > settings.batch ? fmt::format(" with a --batch of {} or more", enough) : ""));
}

/// A training run. All ranks execute the same code, but only rank 0 prints and writes the files.
class TrainingRun {
 public:
  TrainingRun(TrainArguments& args, LauncherWatch& watch) : args_(args), watch_(watch) {}

  /// Prepares the first step: reads files, checks the options and everything that depends on them,
  /// and prints the plan. Does not communicate with other ranks.
  void prepare();
  /// Trains and saves, and prints the results. Returns the exit code.
  int run();

 private:
  void open();
  void plan_trace();
  void lock_files();
  void prepare_averages();
  void prepare_trainer();
  void observe();
  void start_tensorboard();
  /// Writes and prints the results after the last step. Only for rank 0.
  void finish(const TrainOutcome& outcome);
  void write_report(const TaskReport& report);
  bool first() const { return args_.world.first(); }
  Session& measured() { return averages_ ? averages_->session() : *session_; }

  TrainArguments& args_;
  LauncherWatch& watch_;
  RunLocks locks_;  // only on rank 0
  const Task* task_ = nullptr;
  std::unique_ptr<TaskRun> run_;
  std::optional<TraceFile> trace_;
  std::optional<Session> session_;
  std::optional<Averages> averages_;
  TrainTask work_;
  std::optional<ModelFiles> files_;
  std::optional<ConsoleProgress> progress_;
  std::optional<LogFile> log_;         // only on rank 0
  std::optional<EventWriter> events_;  // only on rank 0
  std::optional<TensorBoardLog> board_;
  std::optional<BestFile> best_;  // only on rank 0
  Observers observers_;
  std::optional<Trainer> trainer_;
};

void TrainingRun::prepare() {
  open();
  TrainedModel& model = run_->model();
  check_ranks(args_, model.settings);
  print_start(*run_, model, args_);
  say("{}", run_->describe());
  print_training(model.settings, *run_);
  session_.emplace(*model.graph, model.store, args_.session_options(model, trace_->trace()));
  work_ = rethrow_as_usage([&] { return run_->task(*session_); });
  const Program& train = model.program("train");
  const int shard = rethrow_as_usage([&] { return session_->shards_of_rank(train).begin; });
  const BatchPart mine(0, shard, model.settings.shards);
  const NamedTensors fed = rethrow_as_usage([&] { return work_.batch(mine).inputs; });
  args_.paths.check_inputs();
  args_.check_effects(model.settings, static_cast<bool>(work_.evaluate));
  print_ranks(args_, model.settings.shards);
  print_plan(*session_, train, fed, args_);
  prepare_averages();
  observe();
  prepare_trainer();
}

void TrainingRun::open() {
  const std::vector<const Task*> tasks = tasks_of(args_.family);
  args_.destination();  // throws before any file is read
  if (!args_.from.path.empty() && !args_.resume.empty())
    throw UsageError(
        "--from starts a new training run, --resume continues one: give only one of them");
  if (!args_.resume.empty()) check_resume(args_, tasks);
  LoadedModel chosen = chosen_task(args_, tasks);
  task_ = &chosen.task;
  if (hf::is_adapter_folder(args_.from)) {
    if (!args_.adapters.empty()) {
      throw UsageError(fmt::format(
          "--from {} contains adapters already: name the base model, or leave out --adapters",
          args_.from.path));
    }
    args_.adapters = args_.from.path;
    args_.from.path =
        rethrow_as_usage([&] { return hf::read_adapter_folder(args_.from).base().path; });
  }
  check_options(args_, *task_, tasks);
  args_.plan_files(task_->info().plots);
  lock_files();
  const auto plan_adapters = [&] {
    args_.plan_companions("the adapters", kAdapters, FileKind::adapters);
  };
  if (args_.trains_adapters()) plan_adapters();
  run_ = args_.resume.empty() ? new_run(args_, *task_)
                              : resumed_run(args_, *task_, std::move(chosen.model));
  TrainedModel& model = run_->model();
  plan_trace();
  args_.check_earlier_checkpoints(args_.resume.empty() ? TrainHistory() : model.history);
  if (model.lora && !args_.trains_adapters()) plan_adapters();
  if (model.settings.ema > 0) args_.plan_companions("the averages", kAverages, FileKind::inference);
}

/// Plans the timeline. By default, it shows the steps after the first one of this process.
void TrainingRun::plan_trace() {
  const auto& losses = run_->model().history.train;
  const std::int64_t done = args_.resume.empty() || losses.empty() ? 0 : losses.back().first;
  Trace::Steps& steps = args_.trace.steps;
  if (!args_.trace.has_steps) steps = {done + 2, done + 4};
  if (steps.last <= done) {
    throw UsageError(
        fmt::format("--trace-steps has no effect: the run continues after step {}", done));
  }
  trace_.emplace(args_.trace, args_.paths);
}

/// Locks the files that two runs must not share. The names of all other files are derived from
/// them.
void TrainingRun::lock_files() {
  if (!first()) return;
  const std::string run = args_.command_line();
  locks_.add(args_.out.empty() ? "--resume" : "--out", args_.destination(), run);
  if (!args_.best.empty()) locks_.add("--best", args_.best, run);
  if (!args_.log.empty()) locks_.add("--log", args_.log, run);
}

void TrainingRun::prepare_averages() {
  TrainedModel& model = run_->model();
  if (model.settings.ema == 0) return;
  session_->gather_state();  // averages are optimizer state
  averages_.emplace(model, args_.session_options(model));
  const TrainTask of_averages = run_->task(averages_->session());
  if (!work_.evaluate) return;
  work_.evaluate = [this, evaluate = of_averages.evaluate](bool whole) {
    averages_->refresh();
    return evaluate(whole);
  };
}

void TrainingRun::observe() {
  // Generating samples may use random numbers. All ranks generate the samples, so that their random
  // keys stay equal.
  progress_.emplace([this](std::int64_t step) {
    const std::string line = run_->sample(measured());
    if (events_ && !line.empty()) events_->text("sample", step, line);
    return line;
  });
  observers_.add(*progress_);
  observers_.add(watch_);
  if (args_.log.empty() || !first()) return;
  log_.emplace(args_.paths.planned(args_.log), !args_.resume.empty());
  observers_.add(*log_);
}

/// Throws UsageError if --best or --patience cannot be applied, or if a resumed run is given
/// different data than before.
void TrainingRun::prepare_trainer() {
  TrainedModel& model = run_->model();
  const TrainSettings& settings = model.settings;
  check_digest(model.history.data, args_);
  const TrainHistory before = model.history;
  TrainHistory history = before;
  history.data = args_.digest;
  files_.emplace(model, averages_ ? &*averages_ : nullptr, *session_, args_);
  if (!args_.best.empty() && first()) {
    best_.emplace(args_.paths.planned(args_.best), args_.destination(), settings, before,
                  static_cast<bool>(work_.evaluate));
  }
  Trainer::Options options{.settings = settings,
                           .history = std::move(history),
                           .data = args_.digest,
                           .observer = &observers_,
                           .save = [this](const TrainHistory& now) { files_->checkpoint(now); },
                           .all_save = args_.all_write,
                           .stop = &stop_requested(),
                           .stop_after = args_.stop_after,
                           .gradients_every = args_.world.size() > 1 ? 0 : args_.histograms};
  if (!args_.best.empty()) {
    options.save_best = [this](const TrainHistory& now) {
      files_->write(args_.paths.planned(args_.best), now);
      if (best_) best_->saved();
    };
  }
  rethrow_as_usage([&] { trainer_.emplace(*session_, work_, std::move(options)); });
  const std::int64_t batches = settings.compared_batches();
  if ((!args_.best.empty() || settings.patience > 0) && !before.validation.empty() &&
      std::isnan(before.best(batches).loss)) {
    say("compared  only evaluations over {}; the earlier evaluations do not count\n",
        compared_part(batches));
  }
}

/// Creates the event file when training begins, so that a rejected command leaves none.
void TrainingRun::start_tensorboard() {
  if (args_.tensorboard.empty() || !first()) return;
  const TrainedModel& model = run_->model();
  // A killed process may have logged steps after its last checkpoint, which this run repeats.
  const std::int64_t purge_step =
      args_.resume.empty() ? 0 : session_->value(kStepVariable).item<std::int64_t>() + 1;
  events_.emplace(args_.paths.planned(args_.tensorboard).path(), tensorboard_options(purge_step));
  events_->hyper_parameters(hyper_parameters(model));
  board_.emplace(*events_, *session_, args_.histograms);
  observers_.add(*board_);
}

int TrainingRun::run() {
  TrainedModel& model = run_->model();
  if (log_) log_->start(task_->info(), model.settings, work_.unit);
  start_tensorboard();
  install_stop_handlers(args_.world);
  const TrainOutcome outcome = trainer_->run();
  model.history = trainer_->history();
  progress_->finish();
  if (first()) finish(outcome);
  if (!outcome.stopped && work_.evaluate && !std::isfinite(outcome.evaluation.loss)) {
    throw DataError(
        fmt::format("the validation loss of step {} is {}, although every parameter of {} is "
                    "finite: training has diverged; try a lower learning rate (--lr)",
                    outcome.step, outcome.evaluation.loss, args_.destination()));
  }
  if (model.lora)
    say("adapters  {}; weft merge merges them into a model\n", args_.file(kAdapters).path());
  if (averages_) say("averages  of the weights: {}\n", args_.file(kAverages).path());
  if (!outcome.stopped) {
    // All ranks evaluate.
    const TaskReport report = run_->report(measured(), outcome, model_name(args_.destination()));
    if (first()) write_report(report);
    for (std::size_t i = 0; events_ && i < report.images.size(); ++i) {
      events_->image(fmt::format("examples/{}: {}", i, report.images[i].caption), outcome.step,
                     report.images[i].image);
    }
  }
  trace_->write(args_.world);
  return (log_ && log_->failed()) || (events_ && events_->failed()) ? 1 : 0;
}

void TrainingRun::finish(const TrainOutcome& outcome) {
  const std::string& out = args_.destination();
  const OutputFile plot = args_.file(kCurve);
  if (log_) log_->end(outcome);
  if (events_ && !outcome.stopped) events_->end_run(std::isfinite(outcome.evaluation.loss));
  write_text(plot, trainer_->history().svg(fmt::format("{}: loss", model_name(out)),
                                           task_->info().loss_unit));
  say("saved     {} ({}), loss curve {}\n", out,
      short_bytes(static_cast<double>(checkpoint_bytes(out))), plot.path());
  if (best_) best_->print(outcome.best);
  print_ending(outcome, run_->model().settings, args_);
  print_speeds(outcome.ranks, work_.unit);
}

void TrainingRun::write_report(const TaskReport& report) {
  std::string names;
  for (const TaskPlot& plot : report.plots) {
    const OutputFile file = args_.file(plot.ending);
    write_text(file, plot.svg);
    names += (names.empty() ? "" : ", ") + file.path();
  }
  if (!names.empty()) say("plots     {}\n", names);
  say("{}", report.text);
}

/// Returns true if all ranks can access the folders to which they would write with --sharded.
bool ranks_share_folders(const TrainArguments& args) {
  bool share = true;
  for (const std::string& path : {args.out.empty() ? args.resume : args.out, args.best})
    share = share && (path.empty() || ranks_share_folder(path, args.world));
  return share;
}

int run(TrainArguments& args, const World& world) {
  args.world = world;
  args.threads = threads_of_rank(world, args.threads);
  on_all_ranks(world, [&] { world.check_same("--sharded", args.sharded ? "it" : "none"); });
  args.all_write = args.sharded && world.size() > 1 && ranks_share_folders(args);
  // The watch ends only after all ranks have left, so that a rank that is lost after training is
  // reported as well.
  LauncherWatch watch(world);
  int code = 0;
  {
    TrainingRun training(args, watch);
    on_all_ranks(world, [&] { training.prepare(); });
    code = training.run();
  }
  world.leave();
  return code;
}

}  // namespace

void add_train_command(CLI::App& app, Action& action) {
  OptionList command(app, "train", "Train a model");
  command.needs_command();
  for (const FamilyDescription& family : families()) {
    OptionList train(command.command(), family.name, family.about);
    const auto args = std::make_shared<TrainArguments>();
    args->family = family.name;
    add_train_options(train, tasks_of(family.name), *args);
    train.then([args, &parsed = train.command(), &action] {
      args->remember(parsed);
      action = [args](const World& world) { return run(*args, world); };
    });
  }
}

}  // namespace weft::program
