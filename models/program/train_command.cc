// weft train FAMILY: one command for all tasks.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <memory>
#include <optional>

#include "weft/models/fields/numbers.h"
#include "weft/models/program/averages.h"
#include "weft/models/program/best_file.h"
#include "weft/models/program/console.h"
#include "weft/models/program/log_file.h"
#include "weft/models/program/memory_guard.h"
#include "weft/models/program/options.h"
#include "weft/models/program/task_options.h"
#include "weft/models/program/train_arguments.h"
#include "weft/models/tasks/tasks.h"
#include "weft/models/trained/adapters.h"
#include "weft/models/trained/lora_file.h"
#include "weft/models/trained/trainable.h"
#include "weft/serialization/atomic_file.h"

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

/// The task asked for, --task or the family's first; of a run that goes on that of its file, and
/// the model in it.
LoadedModel chosen_task(const TrainArguments& args, const std::vector<const Task*>& tasks) {
  const auto named = std::find_if(tasks.begin(), tasks.end(),
                                  [&](const Task* task) { return task->info().name == args.task; });
  if (args.resume.empty()) return {named == tasks.end() ? *tasks.front() : **named, nullptr};
  LoadedModel loaded = load_any_model(args.resume);
  const TaskInfo& info = loaded.task.info();
  if (info.family != args.family) {
    throw UsageError(fmt::format("{} holds no model of weft train {}: go on with weft train {}",
                                 args.resume, args.family, info.family));
  }
  if (named != tasks.end() && *named != &loaded.task) {
    throw UsageError(fmt::format("--task {} cannot be given with --resume: {} is of --task {}",
                                 args.task, args.resume, info.name));
  }
  return loaded;
}

/// Looks at options that contradict each other, before any file is read.
void check_options(const TrainArguments& args, const Task& task,
                   const std::vector<const Task*>& tasks) {
  check_task_options(task, tasks, args.values);
  if (!args.resume.empty()) return;  // check_resume
  if (args.from.empty()) {
    args.refuse({"--reinit"}, "needs --from");
    args.refuse({"--lora-rank"}, "needs --from: the model that gets adapters");
    return;
  }
  for (const TaskOption& option : task.options().options) {
    if (option.of_new_models)
      args.refuse({option.name}, "cannot be given with --from: its tokenizer is used");
  }
}

std::unique_ptr<TaskRun> resumed_run(const TrainArguments& args, const Task& task,
                                     std::unique_ptr<TrainedModel> model) {
  if (!model->can_train()) {
    throw UsageError(fmt::format(
        "{} cannot be trained: {}; resume the file it was made from", args.resume,
        is_quantized(*model->graph)
            ? "its weights were quantised (--from with --lora-rank trains adapters beside them)"
            : "it was made to infer (--inference), or its weights were averaged, or merged with "
              "adapters after they were quantised"));
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
    // Adapters leave the weights as they are, and as small.
    if (args.lora.rank == 0) {
      asked.check_size = [](const FamilyConfig& config) {
        check_trainable_size(
            std::visit([](const auto& c) { return estimated_parameters(c); }, config));
      };
    }
    if (!args.from.empty()) asked.from = load_pretrained(args.from, args.lora.rank > 0);
    std::unique_ptr<TaskRun> run = task.start(asked);
    TrainedModel& model = run->model();
    if (args.lora.rank > 0)
      add_adapters(model, args.lora,
                   run->loaded ? run->loaded->anew() : std::vector<std::string>{});
    make_trainable(model, {args.freeze, args.layer_lr_decay});
    return run;
  });
}

/// What a new model took over, and what of it is trained.
void print_start(const TaskRun& run, const TrainedModel& model, const TrainArguments& args) {
  if (run.loaded) {
    say("from      {}: {}\n", args.from, run.loaded->str());
    say("settings  those of training, of preset {}\n", run.preset);
  }
  say("{}", run.notes);
  std::int64_t frozen = 0, trained = 0;
  for (const Variable& variable : model.graph->variables()) {
    const VariableInfo& info = variable.info();
    if (info.kind != VariableKind::parameter) continue;
    frozen += info.trainable ? 0 : 1;
    trained += info.trainable ? variable.shape().numel().constant() : 0;
  }
  if (!args.freeze.empty()) say("frozen    {} parameters\n", frozen);
  if (model.lora) {
    say("adapters  of rank {}, alpha {:g}{}: {} parameters are trained\n", model.lora->rank,
        model.lora->alpha, is_quantized(*model.graph) ? ", beside quantised weights" : "",
        grouped(trained));
  }
}

/// As papers write it.
std::string_view optimizer_name(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::adamw: return "AdamW";
    case Optimizer::adam: return "Adam";
    case Optimizer::sgd: return "SGD";
    case Optimizer::adafactor: return "Adafactor";
    case Optimizer::lion: break;
  }
  return "Lion";
}

/// The line "training". UsageError where a batch is too large for the machine.
void print_training(const TrainSettings& s, const TaskRun& run) {
  constexpr double kBytesEach = 8;  // inputs and targets
  check_memory("a batch",
               kBytesEach * static_cast<double>(s.batch) * static_cast<double>(run.row_size()),
               "--batch makes it smaller");
  say("training  {} steps of {} {}{}, {}, learning rate {:g}", grouped(s.steps), s.batch,
      run.batch_unit(), s.shards > 1 ? fmt::format(" in {} shards", s.shards) : "",
      optimizer_name(s.optimizer), s.lr);
  if (s.schedule == LearningRate::cosine || s.schedule == LearningRate::linear)
    say(" -> {:g}", s.min_lr);
  if (s.patience > 0) say(", patience {}", s.patience);
  if (s.ema > 0) say(", averages of the weights with decay {:g}", s.ema);
  say(", seed {}\n", s.seed);
}

/// Bytes of the variables that a program has; caches, whose sizes differ, are none of training.
double variable_bytes(const Program& program) {
  double bytes = 0;
  for (const Variable& variable : program.variables()) {
    const ValueType& type = variable.value().type();
    bytes += static_cast<double>(type.shape.numel().constant()) *
             static_cast<double>(dtype_size(type.dtype));
  }
  return bytes;
}

/// The line "plan"; `batch` is the inputs of a shard. UsageError where a memory budget is too
/// small, or the machine.
void print_plan(Session& session, const Program& train, const NamedTensors& batch,
                const TrainArguments& args) {
  NamedSizes sizes;
  for (const auto& [name, tensor] : batch) sizes.emplace_back(name, tensor.sizes());
  const auto plan = rethrow_as_usage([&] { return session.plan(train, sizes); });
  const MemoryReport memory = plan->memory();
  // A shard's plan has the parameters alone; of its sums some wait for those of other shards.
  const int shards = train.shards().count;
  const double variables =
      shards > 1 ? variable_bytes(train) : static_cast<double>(memory.variables);
  const double sums =
      shards > 1 ? static_cast<double>(memory.outputs) * (std::log2(shards) + 1) : 0;
  check_memory("a training step",
               variables + static_cast<double>(memory.arena) +
                   std::max(sums, static_cast<double>(memory.outputs)),
               "a smaller --batch and model, more --shards or a --memory-budget take less");
  const int threads = args.threads == 0 ? hardware_threads() : args.threads;
  say("plan      {} FLOP per step; {} of variables, {} of working memory{}; {} {}\n",
      short_number(plan->cost().flops * shards), short_bytes(variables),
      short_bytes(static_cast<double>(memory.arena)),
      shards > 1 ? fmt::format(" for a shard and {} for sums", short_bytes(sums)) : "", threads,
      threads == 1 ? "thread" : "threads");
  if (memory.recomputed_bytes > 0) {
    say("budget    {}: {} of results are computed again, {} FLOP per step\n",
        short_bytes(static_cast<double>(memory.budget)),
        short_bytes(static_cast<double>(memory.recomputed_bytes)),
        short_number(memory.recomputed_flops * shards));
  }
  flush_stdout();
}

/// A run that goes on learns from what it began with: UsageError for other data.
void check_digest(const std::string& before, const TrainArguments& args) {
  if (before.empty() || args.digest.empty() || before == args.digest) return;
  throw UsageError(fmt::format(
      "the run in {} learned from other data than those given: it cannot go on as if they were the "
      "same (start a new training with --from and the weights of this one)",
      args.resume));
}

/// How the run goes on, where it ended before its last step.
void print_ending(const TrainOutcome& outcome, const TrainSettings& settings,
                  const TrainArguments& args) {
  const std::string& out = args.destination();
  const std::string resume =
      fmt::format("go on with: {} --resume {} --out {}{}", args.command_line(), out, out,
                  args.best.empty() ? "" : " --best " + args.best);
  if (outcome.stopped)
    say("stopped   at step {} of {}; {}\n", outcome.step, settings.steps, resume);
  if (outcome.out_of_patience) {
    say("patience  ended the run at step {} of {}: {} evaluations in a row were no better; {} "
        "--patience {}\n",
        outcome.step, settings.steps, outcome.best.since, resume, 2 * settings.patience);
  }
  if (outcome.skipped > 0) say("skipped   {} steps that were not finite\n", outcome.skipped);
}

/// Gives the file a second name, whose earlier file goes: what replaces `path` later leaves that
/// one as it was. A copy where the disk knows no second names.
void keep_file(const std::string& path, const std::string& as) {
  namespace fs = std::filesystem;
  fs::remove(as);
  std::error_code error;
  fs::create_hard_link(fs::canonical(path), as, error);  // of the file, not of a link to it
  if (!error) return;
  const std::shared_ptr<MappedFile> whole = MappedFile::open(path);
  AtomicFile copy(as);
  copy.write(whole->data(), whole->bytes());
  copy.commit();
}

/// The files of a model's state: its own, and those that go beside it.
class ModelFiles {
 public:
  /// `averages` may be null. `resumed`: the file of the last checkpoint is this run's.
  ModelFiles(TrainedModel& model, Averages* averages, const TrainArguments& args)
      : model_(model), averages_(averages), args_(args), saved_(!args.resume.empty()) {}

  /// A checkpoint of the run, to the file of --out.
  void checkpoint(const TrainHistory& history) {
    const OutputFile file = args_.file("");
    if (saved_) keep_earlier(file.path());
    write(file, history);
    saved_ = true;
  }
  /// To that file.
  void write(const OutputFile& file, const TrainHistory& history) {
    model_.history = history;
    save_model(file.path(), model_);
    if (model_.lora) save_lora(companion(file, kAdapters).path(), lora_adapters(model_));
    if (averages_ != nullptr) averages_->save(companion(file, kAverages).path());
  }

 private:
  OutputFile companion(const OutputFile& file, const std::string& ending) const {
    return args_.paths.planned(beside(file.path(), ending));
  }
  /// The checkpoint that is about to be replaced stays as the first of the earlier ones.
  void keep_earlier(const std::string& path) const {
    namespace fs = std::filesystem;
    if (args_.keep == 0 || !fs::exists(path)) return;
    const auto earlier = [&](std::int64_t saves) {
      return args_.paths.planned(beside(path, earlier_ending(saves))).path();
    };
    try {
      for (std::int64_t saves = args_.keep; saves > 1; --saves) {
        if (fs::exists(earlier(saves - 1))) fs::rename(earlier(saves - 1), earlier(saves));
      }
      keep_file(path, earlier(1));
    } catch (const fs::filesystem_error& e) {
      throw IoError(
          fmt::format("--keep: cannot keep the checkpoint that \"{}\" holds beside it: {}", path,
                      e.code().message()));
    }
  }

  TrainedModel& model_;
  Averages* averages_;
  const TrainArguments& args_;
  bool saved_;  // by this run
};

/// Trains with progress on the console, saves, and says so. UsageError where --best or --patience
/// cannot be followed, and where a run that goes on has other data than it began with.
TrainOutcome train(Session& session, TaskRun& run, const TrainTask& task, const TaskInfo& info,
                   Averages* averages, LogFile* log, const TrainArguments& args) {
  TrainedModel& model = run.model();
  const TrainSettings& settings = model.settings;
  const std::string& out = args.destination();
  const OutputFile plot = args.file(kCurve);
  check_digest(model.history.data, args);
  const TrainHistory before = model.history;
  TrainHistory history = before;
  history.data = args.digest;
  ModelFiles files(model, averages, args);
  Session& measured = averages == nullptr ? session : averages->session();
  ConsoleProgress progress([&] { return run.sample(measured); });
  Observers observers;
  observers.add(progress);
  if (log != nullptr) observers.add(*log);
  std::optional<BestFile> best;
  if (!args.best.empty()) {
    best.emplace(args.paths.planned(args.best), out, settings, before,
                 static_cast<bool>(task.evaluate));
  }
  Trainer::Options options{.settings = settings,
                           .history = std::move(history),
                           .observer = &observers,
                           .save = [&](const TrainHistory& now) { files.checkpoint(now); },
                           .stop = &stop_requested,
                           .stop_after = args.stop_after};
  if (best) {
    options.save_best = [&](const TrainHistory& now) {
      files.write(best->file(), now);
      best->saved();
    };
  }
  Trainer trainer = rethrow_as_usage([&] { return Trainer(session, task, std::move(options)); });
  const std::int64_t batches = settings.compared_batches();
  if ((best || settings.patience > 0) && !before.validation.empty() &&
      std::isnan(before.best(batches).loss)) {
    say("compared  are evaluations over {}: none of the earlier ones is\n", compared_part(batches));
  }
  if (log != nullptr) log->start(info, settings);
  install_stop_handlers();
  TrainOutcome outcome = trainer.run();
  progress.finish();
  if (log != nullptr) log->end(outcome);
  write_text(plot, trainer.history().svg(fmt::format("{}: loss", model_name(out)), info.loss_unit));
  say("saved     {} ({}), loss curve {}\n", out,
      short_bytes(static_cast<double>(std::filesystem::file_size(out))), plot.path());
  if (best) best->print(outcome.best);
  print_ending(outcome, settings, args);
  if (!outcome.stopped && task.evaluate && !std::isfinite(outcome.evaluation.loss)) {
    throw DataError(fmt::format(
        "the validation loss of step {} is {}, though every parameter of {} is finite: training "
        "has diverged; try a lower learning rate (--lr)",
        outcome.step, outcome.evaluation.loss, out));
  }
  return outcome;
}

void print_report(const TaskReport& report, const TrainArguments& args) {
  std::string names;
  for (const TaskPlot& plot : report.plots) {
    const OutputFile file = args.file(plot.ending);
    write_text(file, plot.svg);
    names += (names.empty() ? "" : ", ") + file.path();
  }
  if (!names.empty()) say("plots     {}\n", names);
  say("{}", report.text);
}

int run(TrainArguments& args) {
  const std::vector<const Task*> tasks = tasks_of(args.family);
  args.destination();  // asked for before any file is read
  if (!args.from.empty() && !args.resume.empty())
    throw UsageError("--from starts a new training, --resume goes on with one: give one of them");
  if (!args.resume.empty()) check_resume(args, tasks);
  LoadedModel chosen = chosen_task(args, tasks);
  const Task& task = chosen.task;
  const TaskInfo& info = task.info();
  check_options(args, task, tasks);
  args.plan_files(info.plots);
  const auto plan_adapters = [&] {
    args.plan_companions("the adapters", kAdapters, FileKind::adapters);
  };
  if (args.lora.rank > 0) plan_adapters();
  const std::unique_ptr<TaskRun> run =
      args.resume.empty() ? new_run(args, task) : resumed_run(args, task, std::move(chosen.model));
  TrainedModel& model = run->model();
  if (model.lora && args.lora.rank == 0) plan_adapters();
  if (model.settings.ema > 0) args.plan_companions("the averages", kAverages, FileKind::inference);
  print_start(*run, model, args);
  say("{}", run->describe());
  print_training(model.settings, *run);
  Session session(*model.graph, model.store, args.session_options(model));
  TrainTask work = rethrow_as_usage([&] { return run->task(session); });
  const BatchPart first(0, 0, model.settings.shards);
  const NamedTensors fed = rethrow_as_usage([&] { return work.batch(first).inputs; });
  print_plan(session, model.program("train"), fed, args);
  std::optional<Averages> averages;
  if (model.settings.ema > 0) {
    session.initialise();
    averages.emplace(model, args.session_options(model));
    const TrainTask of_averages = run->task(averages->session());
    if (work.evaluate) {
      work.evaluate = [&averages, evaluate = of_averages.evaluate](bool whole) {
        averages->refresh();
        return evaluate(whole);
      };
    }
  }
  std::optional<LogFile> log;
  if (!args.log.empty()) log.emplace(args.paths.planned(args.log), !args.resume.empty());
  const TrainOutcome outcome = train(session, *run, work, info, averages ? &*averages : nullptr,
                                     log ? &*log : nullptr, args);
  if (model.lora)
    say("adapters  {}; weft merge adds them to a model\n", args.file(kAdapters).path());
  if (averages) say("averages  of the weights: {}\n", args.file(kAverages).path());
  if (!outcome.stopped) {
    Session& measured = averages ? averages->session() : session;
    print_report(run->report(measured, outcome, model_name(args.destination())), args);
  }
  return log && log->failed() ? 1 : 0;
}

}  // namespace

void add_train_command(CLI::App& app, Action& action) {
  OptionList command(app, "train", "Train a model");
  command.needs_command();
  for (const FamilyAbout& family : families()) {
    OptionList train(command.command(), family.name, family.about);
    const auto args = std::make_shared<TrainArguments>();
    args->family = family.name;
    add_train_options(train, tasks_of(family.name), *args);
    train.then([args, &parsed = train.command(), &action] {
      args->remember(parsed);
      action = [args] { return run(*args); };
    });
  }
}

}  // namespace weft::program
