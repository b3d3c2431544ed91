// The command line of `weft train` for all families.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/graph/weights/lora.h"
#include "weft/models/program/files/paths.h"
#include "weft/models/program/files/trace_file.h"
#include "weft/models/program/options/options.h"
#include "weft/models/tasks/common/task.h"

namespace weft::program {

struct TrainArguments {
  std::string family;  // weft train FAMILY
  std::string task;    // --task
  std::string out, best, log, tensorboard, preset, resume, adapters;
  ModelPath from;
  std::int64_t histograms = 0;  // steps between histograms of parameters and gradients; 0 = none
  std::int64_t keep = 0;        // number of earlier checkpoints to keep
  std::vector<std::string> reinit, freeze;
  double layer_lr_decay = 1;
  LoraOptions lora{.rank = 0, .patterns = {}};  // rank 0 = all weights are trained
  int threads = 0;
  bool sharded = false;       // all ranks write checkpoints
  bool force = false;         // files of another type may be replaced
  bool check_finite = false;  // SessionOptions::check_finite
  std::size_t memory_budget = 0;
  std::int64_t stop_after = 0;
  FieldTexts model, training;  // given fields of the config and of TrainSettings
  OptionValues values;         // values of the task's own options

  std::set<std::string> given;  // names of all options that were given
  CommandPaths paths;           // inputs and, after plan_files(), outputs
  const CLI::App* command = nullptr;
  std::vector<std::string> foreign;  // earlier checkpoints of other runs, to be removed
  std::string digest;                // fingerprint of the training data, see data_digest()
  World world = {};                  // the ranks of the training run; rank 0 writes the files
  TraceArguments trace{.path = {}, .steps = {.first = 2, .last = 4}};
  bool all_write = false;  // every rank writes a part of each checkpoint (--sharded, if possible)

  /// Fills `given` and `paths` from the parsed command, which must outlive this object.
  void remember(const CLI::App& command);
  /// Returns true if adapters are trained: new ones (--lora-rank) or existing ones (--adapters).
  bool trains_adapters() const { return lora.rank > 0 || !adapters.empty(); }
  bool has(const std::string& option) const { return given.contains(option); }
  /// Throws UsageError("<option> <why>") for the first of these options that was given, if any.
  void refuse(const std::vector<std::string>& options, const std::string& why) const;

  /// Throws UsageError for the first given option that changes nothing in a run with these
  /// settings. `evaluates` is false if no data is held out.
  void check_effects(const TrainSettings& settings, bool evaluates) const;

  /// Returns the file to which the model is written: the --out file, or else the --resume file.
  /// Throws UsageError if neither was given.
  const std::string& destination() const;
  /// Plans all files that the run will write: the model, its loss curve, plots with these endings
  /// (such as ".attention.svg"), the best model, the log and earlier checkpoints. Must be called
  /// before any work starts. Also reads the data to compute `digest`. Throws the same errors as
  /// CommandPaths::plan_file().
  void plan_files(const std::vector<std::string>& plots);
  /// Checks the files that are planned for earlier checkpoints. `before` is the history of the run,
  /// which is empty for a new run. Throws IoError if a file is a checkpoint of another run, unless
  /// --force was given. ModelFiles then removes the file when it keeps the first checkpoint.
  void check_earlier_checkpoints(const TrainHistory& before);
  /// Plans the companion files with this ending (adapters or averages) for the model and for the
  /// best model.
  void plan_companions(const std::string& what, const std::string& ending, FileKind kind);
  /// Returns the planned companion file of the model. If `ending` is "", returns the model file
  /// itself.
  OutputFile file(const std::string& ending) const;
  /// Returns the options for a session that trains or evaluates `model`.
  SessionOptions session_options(const TrainedModel& model, Trace* trace = nullptr) const;
  /// Returns the command line that continues the run after a stop, without --resume and --out.
  std::string command_line() const;
};

/// Endings of the companion files of a model.
inline constexpr const char* kCurve = ".svg";
inline constexpr const char* kAdapters = ".lora.safetensors";
inline constexpr const char* kAverages = ".ema.weft";
/// Returns the ending of the checkpoint that was written `saves` saves ago, counted from 1.
std::string earlier_ending(std::int64_t saves);

/// Adds all options of `weft train FAMILY`. `tasks` are the tasks of the family.
void add_train_options(OptionList& options, const std::vector<const Task*>& tasks,
                       TrainArguments& args);

/// Checks the options of a resumed run. The number of steps and the intervals for evaluating and
/// saving may change, but the computation of a training step may not. Throws UsageError if any
/// other option was given. `tasks` are the tasks of the family.
void check_resume(const TrainArguments& args, const std::vector<const Task*>& tasks);

}  // namespace weft::program
