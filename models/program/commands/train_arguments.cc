#include "weft/models/program/commands/train_arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "weft/models/program/files/data_digest.h"
#include "weft/models/program/options/field_options.h"
#include "weft/models/program/options/options.h"
#include "weft/models/program/options/task_options.h"
#include "weft/models/program/terminal/usage_error.h"
#include "weft/models/training/model.h"

namespace weft::program {
namespace {

/// Options that a resumed run accepts in addition to the data options. They control the output
/// files, the number of steps, and how often the model is evaluated.
const std::set<std::string> kAllowedOnResume = {
    "--log",    "--keep",        "--resume",        "--out",          "--best",       "--force",
    "--task",   "--threads",     "--memory-budget", "--check-finite", "--stop-after", "--sharded",
    "--verify", "--tensorboard", "--trace",         "--trace-steps",  "--histograms"};
const std::set<std::string> kFieldsAllowedOnResume = {"steps",      "eval_every", "eval_batches",
                                                      "save_every", "patience",   "skip_nonfinite"};

std::string preset_lines(const std::vector<const Task*>& tasks) {
  std::vector<std::pair<std::string, std::vector<TaskText>>> presets;
  for (const Task* task : tasks) {
    for (const PresetDescription& preset : task->presets()) {
      auto found = std::find_if(presets.begin(), presets.end(),
                                [&](const auto& entry) { return entry.first == preset.name; });
      if (found == presets.end()) found = presets.insert(presets.end(), {preset.name, {}});
      found->second.push_back({task->info().name, preset.about});
    }
  }
  std::string lines;
  for (const auto& [name, texts] : presets)
    lines += fmt::format("\n{} = {}", name, joined_help(texts, tasks.size()));
  return lines;
}

void add_start_options(OptionList& options, TrainArguments& args) {
  options.input("--from", args.from,
                "start from the weights, config and tokenizer in this .weft file or Hugging Face "
                "folder; a --preset then selects only the training settings");
  options.input("--adapters", args.adapters,
                "with --from: train these adapters further, with their ranks and scales; an "
                "adapter folder of the PEFT library or a .lora.safetensors file (an adapter folder "
                "as --from means its base model and the adapters)");
  options.texts("--reinit,--new", args.reinit, OptionList::Times::list,
                "patterns of parameters to reinitialise instead of loading them from --from, such "
                "as \"layers.0.*\"");
  options.texts("--freeze", args.freeze, OptionList::Times::list,
                "patterns of parameters to freeze, such as \"layers.0.*\"");
  options.real(
      "--layer-lr-decay", args.layer_lr_decay, kAboveZeroToOne,
      "ratio of each layer's learning rate to the learning rate of the layer above (default 1)");
  const AddedOption rank = options.integer("--lora-rank", args.lora.rank, {1, 65536},
                                           "with --from: train low-rank adapters of this rank and "
                                           "freeze the weights, which may be quantised");
  options
      .real("--lora-alpha", args.lora.alpha, {0, 1e6, true},
            "alpha; the adapter outputs are scaled by alpha / rank")
      .needs(rank);
  options
      .real("--lora-dropout", args.lora.dropout, {0, 0.99}, "dropout rate for the adapter inputs")
      .needs(rank);
  options
      .texts("--lora-only", args.lora.patterns, OptionList::Times::list,
             "adapt only matrices whose names match these patterns (*, ?)")
      .needs(rank);
}

/// Returns help texts for the TrainSettings fields that the tasks describe more precisely.
FieldHelp training_help(const std::vector<const Task*>& tasks) {
  FieldHelp help;
  for (const Field& field : TrainSettings::fields().fields()) {
    std::vector<TaskText> texts;
    for (const Task* task : tasks) {
      const auto found = task->info().help.find(field.name);
      texts.push_back(
          {task->info().name, found == task->info().help.end() ? field.help : found->second});
    }
    help[field.name] = joined_help(texts, tasks.size());
  }
  return help;
}

}  // namespace

void TrainArguments::remember(const CLI::App& parsed) {
  command = &parsed;
  for (const GivenOption& option : given_options(parsed)) given.insert(option.name);
  paths = CommandPaths(parsed, force);
  if (lora.patterns.empty()) lora.patterns = {"*"};
}

void TrainArguments::refuse(const std::vector<std::string>& options, const std::string& why) const {
  for (const std::string& option : options) {
    if (has(option)) throw UsageError(fmt::format("{} {}", option, why));
  }
}

void TrainArguments::check_effects(const TrainSettings& settings, bool evaluates) const {
  const auto refuse_if = [&](bool unused, const char* option, std::string_view why) {
    if (unused && has(option)) throw UsageError(fmt::format("{} has no effect: {}", option, why));
  };
  const bool periodic = settings.eval_every > 0;
  constexpr const char* kNoData = "no data is held out for evaluation";
  // Without held-out data, --best and --patience are rejected, which explains more.
  const bool compares = !best.empty() || settings.patience > 0;
  refuse_if(periodic && !evaluates && !compares, "--eval-every", kNoData);
  refuse_if(!evaluates && !compares, "--eval-batches", kNoData);
  refuse_if(!periodic, "--eval-batches",
            "there are no periodic evaluations (--eval-every), and the last one covers all "
            "held-out data");
  const bool saves = settings.save_every > 0 && settings.save_every < settings.steps;
  refuse_if(keep > 0 && resume.empty() && !saves, "--keep",
            "the run saves only once, at its end (--save-every)");
  refuse_if(
      trace.steps.first > settings.steps, trace.has_steps ? "--trace-steps" : "--trace",
      fmt::format("the run ends after {} steps; choose steps with --trace-steps", settings.steps));
  refuse_if(histograms > settings.steps, "--histograms",
            fmt::format("the run ends after {} steps", settings.steps));
  refuse_if(stop_after > settings.steps, "--stop-after",
            fmt::format("the run ends after {} steps", settings.steps));
}

const std::string& TrainArguments::destination() const {
  if (out.empty() && resume.empty())
    throw UsageError("--out is required: it names the file to write the model to");
  return out.empty() ? resume : out;
}

void TrainArguments::plan_files(const std::vector<std::string>& plots) {
  if (!world.first()) paths.leave_to_first_rank();
  const std::string& path = destination();
  // A resumed run may save its next state to the file that it was resumed from.
  if (!resume.empty() && (out.empty() || same_file(out, resume))) {
    paths.plan_resumed(out.empty() ? "--resume" : "--out", path, "--resume");
  } else {
    paths.plan_file("--out", path, FileKind::model);
  }
  const auto plan_beside = [&](const std::string& ending) {
    paths.plan_file("the plot", companion_path(path, ending), FileKind::plot);
  };
  plan_beside(kCurve);
  for (const std::string& ending : plots) plan_beside(ending);
  if (!best.empty()) paths.plan_file("--best", best, FileKind::model);
  if (!log.empty()) paths.plan_file("--log", log, FileKind::log);
  if (!tensorboard.empty()) paths.plan_growing_folder("--tensorboard", tensorboard);
  for (std::int64_t saves = 1; saves <= keep; ++saves)
    paths.plan_earlier_checkpoint("an earlier checkpoint",
                                  companion_path(path, earlier_ending(saves)), path);
  // Inputs that are stored in the model file do not count as data, because they are not passed to a
  // resumed run.
  digest =
      data_digest(*command, {"--resume", "--from", "--adapters", "--tokenizer", "--chat-format"});
}

void TrainArguments::check_earlier_checkpoints(const TrainHistory& before) {
  if (!world.first()) return;
  const OutputInspection inspection(paths);
  for (std::int64_t saves = 1; saves <= keep; ++saves) {
    const std::string path = companion_path(destination(), earlier_ending(saves));
    TrainHistory found;
    try {
      found = read_history(path);
    } catch (const Error&) {
      continue;  // there is no model
    }
    // A checkpoint of this run has the same losses up to its step.
    const bool own = found.train.size() <= before.train.size() &&
                     std::equal(found.train.begin(), found.train.end(), before.train.begin());
    if (own && !resume.empty()) continue;
    if (!force) {
      throw IoError(fmt::format(
          "--keep {}: {} is a checkpoint of another run, of which it is step {}: name another "
          "--out file, move the checkpoint away, or add --force to remove it",
          keep, path, found.train.empty() ? 0 : found.train.back().first));
    }
    foreign.push_back(path);
  }
}

void TrainArguments::plan_companions(const std::string& what, const std::string& ending,
                                     FileKind kind) {
  for (const std::string& model : {destination(), best}) {
    if (!model.empty()) paths.plan_file(what, companion_path(model, ending), kind);
  }
}

std::string earlier_ending(std::int64_t saves) { return fmt::format(".{}.weft", saves); }

OutputFile TrainArguments::file(const std::string& ending) const {
  return paths.planned(ending.empty() ? destination() : companion_path(destination(), ending));
}

SessionOptions TrainArguments::session_options(const TrainedModel& model, Trace* trace) const {
  const TrainSettings& settings = model.settings;
  if (check_finite && settings.skip_nonfinite > 0) {
    throw UsageError(
        "--check-finite stops the run at the first NaN or infinity, but --skip-nonfinite "
        "continues: give only one of them");
  }
  return weft::session_options(model, {.seed = settings.seed,
                                       .threads = threads,
                                       .memory_budget = memory_budget,
                                       .check_finite = check_finite,
                                       .trace = trace,
                                       .world = world});
}

std::string TrainArguments::command_line() const {
  // The resumed file stores the task but not which data is held out, and the held-out data must not
  // change.
  return "weft train " + family + values.command_line();
}

void add_train_options(OptionList& options, const std::vector<const Task*>& tasks,
                       TrainArguments& args) {
  if (tasks.size() > 1) {
    std::vector<std::string> names;
    std::string help;
    for (const Task* task : tasks) {
      names.push_back(task->info().name);
      help += fmt::format("{}{} = {}{}", help.empty() ? "" : "; ", task->info().name,
                          task->info().about, task == tasks.front() ? " (default)" : "");
    }
    options.choice("--task", names, args.task, help);
  }
  add_task_options(options, tasks, args.values);
  options.output("--out", args.out,
                 "file to write (.weft); the loss curve is written next to it (.svg)");
  options.output("--best", args.best,
                 "also write the model to this file whenever its validation loss is the lowest so "
                 "far (a model that overfits becomes worse later)");
  options.integer("--keep", args.keep, {0, 1000},
                  "number of earlier checkpoints to keep; the newest of them is net.1.weft, and so "
                  "on (default 0)");
  options.flag("--sharded", args.sharded,
               "with several ranks: write --out and --best as sharded checkpoints, so that no rank "
               "needs memory for the whole optimizer state; each rank writes one part (such as "
               "net-7-00001-of-00003.weft) next to the file that lists the parts; weft convert "
               "merges the parts into one file");
  options.output("--log", args.log,
                 "write a training log to this file (.jsonl), one JSON object per line; a resumed "
                 "run appends to its log");
  const AddedOption tensorboard = options.output_folder(
      "--tensorboard", args.tensorboard,
      "write losses, metrics, learning rate, gradient norm, speed, samples and "
      "settings to an event file in this folder, which TensorBoard shows as one "
      "run; a resumed run continues its curves if it names the same folder");
  options
      .integer("--histograms", args.histograms, kFromOne,
               "with --tensorboard: steps between histograms of all trainable parameters and their "
               "gradients (with several ranks: of the parameters)")
      .needs(tensorboard);
  args.trace.add(options,
                 "training steps to record (default: the second to the fourth of this process)");
  options.flag("--force", args.force,
               "replace existing files of another type that have these names");
  options.text("--preset", args.preset,
               "start from these settings:" + preset_lines(tasks) +
                   "\n(default: the task's first preset; with --from, the fine-tune preset if the "
                   "task has one)");
  options.input("--resume", args.resume, "continue the run saved in this file");
  add_start_options(options, args);
  options.threads(args.threads);
  options.bytes("--memory-budget", args.memory_budget,
                "limit on the working memory (such as 500MiB or 2GiB); values that do not fit are "
                "recomputed, with the same results; on 2, 4, 8, ... ranks, each rank keeps only "
                "the gradients that it owns (default: no limit)");
  options.flag("--check-finite", args.check_finite,
               "stop at the first operation that produces a NaN or an infinity from finite "
               "numbers, and print the name, location and operands of the operation (slower)");
  options.integer("--stop-after", args.stop_after, kFromZero,
                  "save and stop after this step, as with Ctrl-C; continue the run with --resume");
  const TaskFields config = tasks.front()->config_fields();
  add_field_options(options, config.group, *config.list, config.skip, args.model);
  add_field_options(options, "Training", TrainSettings::fields(), {}, args.training,
                    training_help(tasks));
}

void check_resume(const TrainArguments& args, const std::vector<const Task*>& tasks) {
  for (const auto& [field, value] : args.model) {
    throw UsageError(fmt::format(
        "{} cannot be given with --resume: the model is loaded from the file", option_name(field)));
  }
  std::set<std::string> taken = kAllowedOnResume;
  for (const Task* task : tasks) {
    for (const TaskOption& option : task->options().options) {
      if (option.data) taken.insert(option.name);
    }
  }
  for (const auto& [field, value] : args.training) {
    if (kFieldsAllowedOnResume.contains(field)) {
      taken.insert(option_name(field));
    } else {
      throw UsageError(
          fmt::format("{} cannot be given with --resume: the training step is loaded from the file",
                      option_name(field)));
    }
  }
  for (const std::string& option : args.given) {
    if (!taken.contains(option)) {
      throw UsageError(fmt::format(
          "{} cannot be given with --resume: its value is loaded from the file", option));
    }
  }
}

}  // namespace weft::program
