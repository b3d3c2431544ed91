// What the command line of weft train says, whatever is trained.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "weft/graph/run/session.h"
#include "weft/graph/weights/lora.h"
#include "weft/models/program/options.h"
#include "weft/models/program/paths.h"
#include "weft/models/tasks/common/task.h"

namespace weft::program {

struct TrainArguments {
  std::string family;  // weft train FAMILY
  std::string task;    // --task
  std::string out, best, log, preset, resume, from;
  std::int64_t keep = 0;  // earlier checkpoints that stay
  std::vector<std::string> reinit, freeze;
  double layer_lr_decay = 1;
  LoraOptions lora{.rank = 0, .patterns = {}};  // rank 0 = all weights are trained
  int threads = 0;
  bool sharded = false;       // ranks write checkpoints together
  bool force = false;         // files of another kind may be replaced
  bool check_finite = false;  // SessionOptions::check_finite
  std::size_t memory_budget = 0;
  std::int64_t stop_after = 0;
  FieldTexts model, training;  // fields that were given of the config and of TrainSettings
  OptionValues values;         // of the task's own options

  std::set<std::string> given;  // names of all options that were given
  CommandPaths paths;           // what is read, and after plan_files what may be written
  const CLI::App* command = nullptr;
  std::string digest;      // of the data that the command reads, see data_digest
  World world = {};        // the ranks that train together; the first one writes the files
  bool all_write = false;  // all write a part of each checkpoint: --sharded, and they can

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
  /// Plans files of this ending beside the model and the best one: of adapters, of averages.
  void plan_companions(const std::string& what, const std::string& ending, FileKind kind);
  /// The planned file beside the model; "" is the model itself.
  OutputFile file(const std::string& ending) const;
  /// Of a session that trains or evaluates `model`.
  SessionOptions session_options(const TrainedModel& model) const;
  /// How the command goes on after a stop, without --resume and --out.
  std::string command_line() const;
};

/// Endings of what is written beside a model.
inline constexpr const char* kCurve = ".svg";
inline constexpr const char* kAdapters = ".lora.safetensors";
inline constexpr const char* kAverages = ".ema.weft";
/// Of the checkpoint that was written so many saves ago, counted from 1.
std::string earlier_ending(std::int64_t saves);

/// Adds all options of `weft train FAMILY`, whose tasks are `tasks`.
void add_train_options(OptionList& options, const std::vector<const Task*>& tasks,
                       TrainArguments& args);

/// A run that goes on may change how long and how often, not what a step is: UsageError that names
/// any other option that was given. `tasks` are the family's.
void check_resume(const TrainArguments& args, const std::vector<const Task*>& tasks);

}  // namespace weft::program
