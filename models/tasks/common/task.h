// Tasks that models are trained for. A task consists of its folder and one line in tasks.cc;
// commands that train, evaluate or convert models use this interface only.
//
//   weft train FAMILY --task NAME ...     start() or open(), then TaskRun::task() in a Trainer
//   weft convert FOLDER                   from_folder()
//   weft convert FILE                     to_folder()
//   weft evaluate FILE ...                open(), then TaskRun::measure()
//   weft classify FILE, weft tag FILE ... Task::classify(), Task::tag(), ...
//   weft embed                            Task::text_encoder()
//   weft generate, chat, score            Task::text_generator()
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
#include "weft/models/data/tagged_text.h"
#include "weft/models/hf/folder.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/tasks/common/options.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/tasks/common/uses.h"
#include "weft/models/tokenizers/folder.h"
#include "weft/models/train/preset.h"
#include "weft/models/train/trainer.h"
#include "weft/models/trained/model.h"
#include "weft/models/trained/pretrained.h"
#include "weft/models/trained/weights.h"

namespace WEFT_API weft {

class TextGenerator;

/// Name and properties of a task.
struct TaskInfo {
  std::string id;      // as stored in files: "masked-image"
  std::string family;  // weft train FAMILY: "vit"
  std::string name;    // --task NAME: "masked-image"
  /// "pre-training: some patches are masked, and the model learns to reconstruct them"
  std::string about;
  /// Task-specific help for TrainSettings::batch and validation_fraction, if their general help is
  /// not sufficient.
  std::map<std::string, std::string, std::less<>> help = {};
  /// File endings of plots written at the end of a run: ".confusion.svg".
  std::vector<std::string> plots = {};
  /// Hugging Face classes that are loaded as models of the task: "encoders ...ForMaskedLM".
  std::string folders = {};
  /// Uses that models of the task support; others throw.
  std::vector<Use> uses = {};
  std::string loss_unit = "nats";
  bool perplexity = false;  // true if exp(loss) is a perplexity
};

/// Name and description of a preset, for help texts.
struct PresetDescription {
  std::string name, about;
};

/// The arguments of a new training run.
struct TaskArguments {
  OptionValues options = {};             // values of the task's options
  std::string preset = {};               // "" = the task's default
  FieldTexts model = {}, training = {};  // given fields of config and TrainSettings
  std::optional<Pretrained> from = {};   // weights to start from
  /// Patterns of parameters to reinitialise although `from` has them.
  std::vector<std::string> reinit = {};
  /// Called with the config before the model is built; throws if the model is too large.
  std::function<void(const FamilyConfig&)> check_size = {};
};

/// A plot that is written next to the file of a model.
struct TaskPlot {
  std::string ending;  // one of TaskInfo::plots
  std::string svg;
};
/// The report at the end of a run.
struct TaskReport {
  std::string text;  // whole lines
  std::vector<TaskPlot> plots = {};
};

/// A model together with its data. The model must outlive the result of task().
class TaskRun {
 public:
  virtual ~TaskRun() = default;
  /// The model that is trained.
  virtual TrainedModel& model() = 0;
  /// Returns the text that is printed before a run, as whole lines: "model     ViT: ...".
  virtual std::string describe() = 0;
  /// The unit of a batch, for the line "training": "images", "x 64 characters".
  virtual std::string batch_unit() const = 0;
  /// Number of values in a row of a batch; 0 if batches are measured in tokens.
  virtual std::int64_t row_size() const { return 0; }
  /// Returns the batches and evaluations of a training run. Throws ArgumentError if the data
  /// suffice to evaluate a model but not to train one.
  virtual TrainTask task(Session& session) = 0;
  /// Returns a line of sample output of the current model, printed after an evaluation; may be
  /// empty.
  virtual std::string sample(Session&) { return {}; }
  /// Returns the report on a complete training run. `title` is the title of its plots.
  virtual TaskReport report(Session& session, const TrainOutcome& outcome,
                            const std::string& title) = 0;
  /// Evaluates `model` on the whole held-out set. `model` is that of this run or another one of the
  /// same kind (converted, averaged). Throws DataError if no data were held out.
  virtual Evaluation measure(Session& session, const TrainedModel& model) = 0;
  /// As measure(), but returns whole lines of text for users, tables included.
  virtual std::string measure_report(Session& session, const TrainedModel& model);

  /// For a new model: the preset of its settings, and a report on the weights that it started from.
  std::string preset;
  std::optional<LoadReport> loaded;
  /// Further messages for users about how the model was made: whole lines, usually empty.
  std::string notes;
};

/// A run with a model of type `Model`.
template <class Model>
class RunOf : public TaskRun {
 public:
  explicit RunOf(std::unique_ptr<Model> model) : model_(std::move(model)) {}
  /// The model that is trained.
  TrainedModel& model() final { return *model_; }

 protected:
  /// Casts the argument of measure() to `Model`.
  static const Model& known(const TrainedModel& model) { return dynamic_cast<const Model&>(model); }

  std::unique_ptr<Model> model_;
};

/// A task that models are trained for. Stateless.
class Task {
 public:
  virtual ~Task() = default;
  virtual const TaskInfo& info() const = 0;
  /// The options of this task, without those common to all tasks.
  virtual TaskOptions options() const = 0;
  /// The config fields of its models; TaskFields::skip lists those that are not options.
  virtual TaskFields config_fields() const = 0;
  /// The presets of the task. The first is the default.
  virtual std::vector<PresetDescription> presets() const = 0;
  /// Returns an empty model of the task, to be filled from a file.
  virtual std::unique_ptr<TrainedModel> empty_model() const = 0;

  /// Builds a new model, not yet trainable (see make_trainable), and reads the data that the
  /// arguments name. Throws ArgumentError for arguments that make no sense, DataError and
  /// FormatError for invalid files.
  virtual std::unique_ptr<TaskRun> start(const TaskArguments& args) const = 0;
  /// Combines a model of the task with the data that `options` name. Throws the same exceptions as
  /// start().
  virtual std::unique_ptr<TaskRun> open(std::unique_ptr<TrainedModel> model,
                                        const OptionValues& options) const = 0;

  /// Returns the model in a Hugging Face folder, with the inputs and programs that the uses below
  /// need; it cannot be trained. Returns null if the class of the folder does not belong to the
  /// task. Throws ArgumentError for an unsupported config and for a tokenizer that does not fit the
  /// model, FormatError if a required tokenizer is missing, and the same exceptions as
  /// hf::load_weights.
  virtual std::unique_ptr<TrainedModel> from_folder(const hf::Folder& folder,
                                                    const FolderTokenizer& text) const;

  /// The inverse of from_folder(), for any model of the task: returns its description as a Hugging
  /// Face folder, without the weights. Throws an ArgumentError that names the part of the model for
  /// which transformers has no class.
  virtual FolderModel to_folder(const TrainedModel& model) const = 0;

  /// Returns true if info() lists the use.
  bool can(Use use) const;
  /// Returns the message for a use that models of the task do not support: "a text classifier,
  /// which does not generate text; use it with weft classify, weft embed".
  std::string unsupported_use_message(Use use) const;

  /// Returns the most likely classes of every input (a text, or the path of an image) in descending
  /// order of probability; weft classify prints them. Throws FormatError with
  /// unsupported_use_message() if models of the task do not classify. So do the functions below for
  /// their uses.
  virtual std::vector<std::vector<ClassScore>> classify(Session& session, const TrainedModel& model,
                                                        const std::vector<std::string>& inputs,
                                                        const ClassifyOptions& options) const;
  /// Returns the words of every text with the tags that the model predicts, and the spans that
  /// these tags mark; weft tag prints them. Throws FormatError if models of the task do not tag
  /// words.
  virtual std::vector<TaggedText> tag(Session& session, const TrainedModel& model,
                                      const std::vector<std::string>& texts,
                                      const TagOptions& options) const;
  /// Returns `options.most` candidates for each mask in every text; weft fill prints them. A mask
  /// is written "[MASK]", or as the tokenizer spells it. Throws FormatError if models of the task
  /// do not predict masked tokens, DataError if a text has no mask.
  virtual std::vector<std::vector<MaskedPosition>> fill(Session& session, const TrainedModel& model,
                                                        const std::vector<std::string>& texts,
                                                        const FillOptions& options) const;
  /// Returns the spans of the context of every question that answer it, best first; weft answer
  /// prints them. Throws FormatError if models of the task do not answer questions.
  virtual std::vector<std::vector<Answer>> answer(Session& session, const TrainedModel& model,
                                                  const std::vector<Question>& questions,
                                                  const AnswerOptions& options) const;
  /// Returns the translation of every text, or the output for another text-to-text task of the
  /// model; weft translate prints it.
  virtual std::vector<WrittenText> translate(Session& session, const TrainedModel& model,
                                             const std::vector<std::string>& texts,
                                             const TranslateOptions& options) const;
  /// Returns the encoder that computes a vector for each text; weft embed runs it. Throws
  /// FormatError if models of the task have no text encoder, ArgumentError as text_encoder_in().
  virtual std::unique_ptr<TextEncoder> text_encoder(const TrainedModel& model) const;
  /// Returns a text generator that runs the model in a session; both must outlive it. Throws
  /// FormatError if models of the task do not generate text.
  virtual std::unique_ptr<TextGenerator> text_generator(Session& session,
                                                        const TrainedModel& model) const;

 private:
  FormatError unsupported_use_error(Use use) const;
};

/// A task with models of type `Model`.
template <class Model>
class TaskOf : public Task {
 public:
  std::unique_ptr<TrainedModel> empty_model() const final { return std::make_unique<Model>(); }
};

/// Returns `base` with the given fields. If `steps` is given without `warmup`, warmup takes at most
/// a tenth of the steps. Throws ArgumentError for illegal values, and for fields without meaning in
/// combination with the others.
TrainSettings chosen_settings(const TrainSettings& base, const FieldTexts& given);

/// Returns the requested preset (by default the first) with the given settings. Throws
/// ArgumentError for unknown names and illegal values.
template <class Config>
Preset<Config> chosen_preset(const std::vector<Preset<Config>>& presets,
                             const TaskArguments& args) {
  Preset<Config> chosen =
      find_preset(presets, args.preset.empty() ? presets.front().name : args.preset);
  chosen.training = chosen_settings(chosen.training, args.training);
  return chosen;
}
/// Returns the config of the weights to start from, or else that of the preset. Throws FormatError
/// if the weights are of another family.
template <class Config>
Config base_config(const Config& preset, const TaskArguments& args) {
  return args.from ? args.from->config_of<Config>() : preset;
}
/// Returns `base` with the given config fields. Throws ArgumentError for illegal values, and the
/// same exceptions as args.check_size.
template <class Config>
Config chosen_config(const Config& base, const TaskArguments& args) {
  const Config config = Config::fields().with(base, args.model);
  if (args.check_size) args.check_size(config);
  return config;
}
/// Number of rows of the embedding table: the vocabulary size of the tokenizer or, if larger,
/// `known`, the number of rows of the weights to start from, if any.
std::int64_t table_rows(std::int64_t known, const Tokenizer& tokenizer, const TaskArguments& args);
/// Names and descriptions of presets.
template <class AnyPreset>
std::vector<PresetDescription> preset_descriptions(const std::vector<AnyPreset>& presets) {
  std::vector<PresetDescription> result;
  for (const AnyPreset& preset : presets) result.push_back({preset.name, preset.about});
  return result;
}

/// Loads the weights that `args` start from, if any, into a new model. Parameters that match
/// `also_new` are reinitialised, too. Throws ArgumentError if the weights do not fit.
std::optional<LoadReport> start_weights(TrainedModel& model, const TaskArguments& args,
                                        const std::vector<std::string>& also_new = {});
/// As above, with weights already adapted (resized or renamed).
std::optional<LoadReport> start_weights(TrainedModel& model, const TaskArguments& args,
                                        const TensorMap& weights,
                                        const std::vector<std::string>& also_new);
/// Returns the parameters of a classifier to reinitialise: those of its head, if the weights to
/// start from were trained for other classes.
std::vector<std::string> mismatched_head_parameters(const TaskArguments& args,
                                                    const std::vector<std::string>& classes);

/// Creates a run of a new model. `parts` are the arguments of the constructor of `Run`.
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

/// Casts the model to `Model`. Throws ArgumentError if it is of another kind.
template <class Model>
std::unique_ptr<Model> model_as(std::unique_ptr<TrainedModel> model) {
  auto* known = dynamic_cast<Model*>(model.get());
  if (known == nullptr) {
    throw ArgumentError(fmt::format("the model is a {}, but a {} is required", model->layout().kind,
                                    Model::file_layout().kind));
  }
  static_cast<void>(model.release());
  return std::unique_ptr<Model>(known);
}

/// Returns `value`, the value of a metric. Throws a DataError that names `what` ("the perplexity")
/// if it is NaN or infinite.
double require_finite(double value, std::string_view what);

}  // namespace weft
