// Interface for training tasks. Each task consists of a folder and one line in tasks.cc. Commands
// that train, evaluate or convert models access tasks only through this interface.
//
//   weft train FAMILY --task NAME ...     start() or open(), then TaskRun::task() in a Trainer
//   weft convert FOLDER                   from_folder()
//   weft convert FILE                     to_folder()
//   weft evaluate FILE ...                open(), then TaskRun::measure()
//
// Inference needs no task: see tasks.h.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/run/session.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/tasks/common/options.h"
#include "weft/models/tasks/common/unused_fields.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"
#include "weft/models/training/model.h"
#include "weft/models/training/preset.h"
#include "weft/models/training/pretrained.h"
#include "weft/models/training/trainer.h"
#include "weft/models/training/weights.h"

namespace WEFT_API weft {

/// Name and properties of a task.
struct TaskInfo {
  std::string id;      // stored in model files: "masked-image"
  std::string family;  // weft train FAMILY: "vit"
  std::string name;    // --task NAME: "masked-image"
  /// Description for the help text: "pre-training: reconstruct masked image patches"
  std::string about;
  /// Task-specific help for TrainSettings::batch and validation_fraction, if their general help
  /// texts are not sufficient.
  std::map<std::string, std::string, std::less<>> help = {};
  /// File name endings of the plots written at the end of a run: ".confusion.svg".
  std::vector<std::string> plots = {};
  /// The Hugging Face model classes that can be loaded for this task: "encoders ...ForMaskedLM".
  std::string folders = {};
  std::string loss_unit = "nats";
  bool perplexity = false;  // true if exp(loss) is a perplexity
};

/// Name and description of a preset for help texts.
struct PresetDescription {
  std::string name, about;
};

/// The arguments of a new training run.
struct TaskArguments {
  OptionValues options = {};             // values of the task-specific options
  std::string preset = {};               // "" = the task's default preset
  FieldTexts model = {}, training = {};  // given fields of the config and of TrainSettings
  std::optional<Pretrained> from = {};   // weights to start from
  /// Patterns of parameters to reinitialise even if `from` contains them.
  std::vector<std::string> reinit = {};
  /// Called with the config before the model is built. Throws if the model would be too large.
  std::function<void(const FamilyConfig&)> check_size = {};
};

/// File name endings of plots that several tasks have: confusion matrices and attention weights.
inline constexpr const char *kConfusionPlot = ".confusion.svg", *kAttentionPlot = ".attention.svg";

/// A plot that is written next to the model file.
struct TaskPlot {
  std::string ending;  // one of TaskInfo::plots
  std::string svg;
};
/// An example image with the result of the model: "3, predicted 8".
struct TaskImage {
  std::string caption;
  Tensor image;  // as in encode_png()
};
/// The report at the end of a run.
struct TaskReport {
  std::string text;  // one or more complete lines
  std::vector<TaskPlot> plots = {};
  std::vector<TaskImage> images = {};  // a few, for image tasks
};

/// A model and its data. The model must outlive the result of task().
class TaskRun {
 public:
  virtual ~TaskRun() = default;
  /// The model that is trained.
  virtual TrainedModel& model() = 0;
  /// Returns the description that is printed before a run, as complete lines: "model     ViT: ...".
  virtual std::string describe() = 0;
  /// Returns the unit of the batch size for the "training" line: "images", "x 64 characters".
  virtual std::string batch_unit() const = 0;
  /// Returns the number of values in a batch row, or 0 if batches are measured in tokens.
  virtual std::int64_t row_size() const { return 0; }
  /// Returns the batches and evaluations of a training run. Throws ArgumentError if there is data
  /// for evaluation but not for training.
  virtual TrainTask task(Session& session) = 0;
  /// Returns a line of sample output from the current model, which is printed after an evaluation.
  /// May be empty.
  virtual std::string sample(Session&) { return {}; }
  /// Returns the report on a completed training run. `title` is the title of its plots.
  virtual TaskReport report(Session& session, const TrainOutcome& outcome,
                            const std::string& title) = 0;
  /// Evaluates `model` on the whole held-out set. `model` may be the model of this run or another
  /// model of the same type (for example a converted or averaged one). Throws DataError if no data
  /// were held out.
  virtual Evaluation measure(Session& session, const TrainedModel& model) = 0;
  /// Same as measure(), but returns the results as complete lines of text for users, including
  /// tables.
  virtual std::string measure_report(Session& session, const TrainedModel& model);

  /// For new models: the name of the preset, and a report on the weights that training started
  /// from.
  std::string preset;
  std::optional<LoadReport> loaded;
  /// Further notes for users on how the model was built: complete lines, usually empty.
  std::string notes;
};

/// Casts the model to `Model`. Throws ArgumentError if it has another type.
template <class Model>
const Model& model_as(const TrainedModel& model) {
  if (const auto* known = dynamic_cast<const Model*>(&model)) return *known;
  throw ArgumentError(fmt::format("the model is a {}, but a {} is required", model.layout().kind,
                                  Model::file_layout().kind));
}
/// As above, for a model that the caller owns.
template <class Model>
std::unique_ptr<Model> model_as(std::unique_ptr<TrainedModel> model) {
  static_cast<void>(model_as<Model>(*model));
  return std::unique_ptr<Model>(static_cast<Model*>(model.release()));
}

/// A run with a model of type `Model`.
template <class Model>
class RunOf : public TaskRun {
 public:
  explicit RunOf(std::unique_ptr<Model> model) : model_(std::move(model)) {}
  /// The model that is trained.
  TrainedModel& model() final { return *model_; }

 protected:
  std::unique_ptr<Model> model_;
};

/// A training task. Tasks are stateless.
class Task {
 public:
  virtual ~Task() = default;
  virtual const TaskInfo& info() const = 0;
  /// Returns the task-specific options, without those that are common to all tasks.
  virtual TaskOptions options() const = 0;
  /// Returns the config fields of the task's models. TaskFields::skip lists the fields that are not
  /// options.
  virtual TaskFields config_fields() const = 0;
  /// Returns the presets of the task. The first is the default.
  virtual std::vector<PresetDescription> presets() const = 0;
  /// Returns an empty model of this task, which the caller fills from a file.
  virtual std::unique_ptr<TrainedModel> empty_model() const = 0;

  /// Builds a new model, which is not yet trainable (see make_trainable), and reads the data
  /// specified by the arguments. Throws ArgumentError if arguments are invalid, and DataError or
  /// FormatError if files are invalid.
  virtual std::unique_ptr<TaskRun> start(const TaskArguments& args) const = 0;
  /// Combines a model of this task with the data specified by `options`. Throws the same exceptions
  /// as start().
  virtual std::unique_ptr<TaskRun> open(std::unique_ptr<TrainedModel> model,
                                        const OptionValues& options) const = 0;

  /// Returns the model in a Hugging Face folder, with the inputs and programs required by the
  /// inference functions of its type; the model cannot be trained. Returns null if the model class
  /// does not belong to this task. Throws ArgumentError if the config is not supported or the
  /// tokenizer does not match the model, FormatError if a required tokenizer is missing. Also
  /// throws the same exceptions as hf::load_weights.
  virtual std::unique_ptr<TrainedModel> from_folder(const hf::Folder& folder,
                                                    const FolderTokenizer& text) const;

  /// The inverse of from_folder() for any model of this task. Returns a description of the model as
  /// a Hugging Face folder, without the weights. If no transformers class supports the model,
  /// throws an ArgumentError that names the unsupported part.
  virtual FolderModel to_folder(const TrainedModel& model) const = 0;
};

/// A task with models of type `Model`.
template <class Model>
class TaskOf : public Task {
 public:
  std::unique_ptr<TrainedModel> empty_model() const final { return std::make_unique<Model>(); }
  /// Calls open_model().
  std::unique_ptr<TaskRun> open(std::unique_ptr<TrainedModel> model,
                                const OptionValues& options) const final {
    return open_model(model_as<Model>(std::move(model)), options);
  }
  /// Calls Model::to_folder().
  FolderModel to_folder(const TrainedModel& model) const final {
    return model_as<Model>(model).to_folder();
  }

 protected:
  /// Implements open().
  virtual std::unique_ptr<TaskRun> open_model(std::unique_ptr<Model> model,
                                              const OptionValues& options) const = 0;
};

/// Returns `base` with the given fields replaced. If `steps` is given without `warmup`, the warm-up
/// of `base` is limited to a tenth of the steps, or to one step if that is more. Throws
/// ArgumentError if a value is invalid, or if a field has no effect in combination with the others.
TrainSettings chosen_settings(const TrainSettings& base, const FieldTexts& given);

/// Returns the requested preset (by default the first) with the given settings replaced. Throws
/// ArgumentError if the name is unknown or a value is invalid.
template <class Config>
Preset<Config> chosen_preset(const std::vector<Preset<Config>>& presets,
                             const TaskArguments& args) {
  Preset<Config> chosen =
      find_preset(presets, args.preset.empty() ? presets.front().name : args.preset);
  chosen.training = chosen_settings(chosen.training, args.training);
  return chosen;
}
/// Returns the config of the initial weights if there are any; otherwise the config of the preset.
/// Throws FormatError if the weights belong to another model family.
template <class Config>
Config base_config(const Config& preset, const TaskArguments& args) {
  return args.from ? args.from->config_of<Config>() : preset;
}
/// Returns `base` with the given config fields replaced. Throws ArgumentError if a value is invalid
/// or a given field has no effect. Also throws the same exceptions as args.check_size.
template <class Config>
Config chosen_config(const Config& base, const TaskArguments& args) {
  const Config config = Config::fields().with(base, args.model);
  refuse_unused_fields(config, args.model);
  if (args.check_size) args.check_size(config);
  return config;
}
/// Returns the number of rows in the embedding table. This is the vocabulary size of the tokenizer
/// or, if larger, `known`, which is the number of rows in the initial weights (if any).
std::int64_t table_rows(std::int64_t known, const Tokenizer& tokenizer, const TaskArguments& args);
/// Returns the names and descriptions of presets.
template <class AnyPreset>
std::vector<PresetDescription> preset_descriptions(const std::vector<AnyPreset>& presets) {
  std::vector<PresetDescription> result;
  for (const AnyPreset& preset : presets) result.push_back({preset.name, preset.about});
  return result;
}

/// Loads the initial weights in `args`, if any, into a new model. Parameters that match `also_new`
/// are also reinitialised. Throws ArgumentError if the weights do not match the model.
std::optional<LoadReport> start_weights(TrainedModel& model, const TaskArguments& args,
                                        const std::vector<std::string>& also_new = {});
/// As above, with `weights` in place of the weights of `args.from`, for example with positions that
/// were interpolated to another image size.
std::optional<LoadReport> start_weights(TrainedModel& model, const TaskArguments& args,
                                        const TensorMap& weights,
                                        const std::vector<std::string>& also_new);
/// Returns the parameters of a classifier that must be reinitialised: the head parameters if the
/// initial weights were trained for other classes, otherwise none.
std::vector<std::string> mismatched_head_parameters(const TaskArguments& args,
                                                    const std::vector<std::string>& classes);

/// Creates a run with a new model. `parts` are the constructor arguments of `Run`.
template <class Run, class... Parts>
std::unique_ptr<TaskRun> new_run(const std::string& preset, std::optional<LoadReport> loaded,
                                 const std::string& notes, Parts&&... parts) {
  auto run = std::make_unique<Run>(std::forward<Parts>(parts)...);
  run->preset = preset;
  run->loaded = std::move(loaded);
  run->notes = notes;
  return run;
}

/// Allowed values of "--vocab", the vocabulary size of a subword tokenizer.
inline constexpr IntegerRange<std::int64_t> kVocabRange{16, 1'000'000};

/// Returns `value`, a metric. If it is NaN or infinite, throws a DataError that contains `what`
/// ("the perplexity").
double require_finite(double value, std::string_view what);

}  // namespace weft
