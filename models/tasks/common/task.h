// Tasks: what models are trained to do. A task is its folder and a line in tasks.cc; commands that
// train, evaluate or convert models know tasks by this interface only.
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

/// What a task is called, and what commands need to know of it.
struct TaskInfo {
  std::string id;      // in files: "masked-image"
  std::string family;  // weft train FAMILY: "vit"
  std::string name;    // --task NAME: "masked-image"
  std::string
      about;  // "pre-training: some patches are hidden, and the model learns to fill them in"
  /// What TrainSettings::batch and validation_fraction mean here, where their own help does not
  /// say it all.
  std::map<std::string, std::string, std::less<>> help = {};
  std::vector<std::string> plots = {};  // endings of what a run draws at its end: ".confusion.svg"
  /// What classes of Hugging Face's library give models of the task: "encoders ...ForMaskedLM".
  std::string folders = {};
  std::vector<Use> uses = {};  // of its models; the others throw
  std::string loss_unit = "nats";
  bool perplexity = false;  // e to the power of the loss is one
};

/// A preset, for help texts.
struct PresetAbout {
  std::string name, about;
};

/// What a new training was asked for.
struct TaskArguments {
  OptionValues options = {};             // of the task
  std::string preset = {};               // "" = the task's default
  FieldTexts model = {}, training = {};  // fields of config and TrainSettings that were given
  std::optional<Pretrained> from = {};   // weights to start from
  std::vector<std::string> reinit =
      {};  // patterns of parameters that start anew though `from` has them
  /// Is shown the config before anything is made of it: throws where the model is too large.
  std::function<void(const FamilyConfig&)> check_size = {};
};

/// A drawing beside a model's file.
struct TaskPlot {
  std::string ending;  // one of TaskInfo::plots
  std::string svg;
};
/// What is said at the end of a run.
struct TaskReport {
  std::string text;  // whole lines
  std::vector<TaskPlot> plots = {};
};

/// A model over its data. The model must outlive what task() gives.
class TaskRun {
 public:
  virtual ~TaskRun() = default;
  /// The model that is trained.
  virtual TrainedModel& model() = 0;
  /// What is said before a run: whole lines, "model     ViT: ...".
  virtual std::string describe() = 0;
  /// What a batch counts, for the line "training": "images", "x 64 characters".
  virtual std::string batch_unit() const = 0;
  /// Values in a row of a batch; 0 where a batch counts tokens.
  virtual std::int64_t row_size() const { return 0; }
  /// What a training feeds and measures. Throws ArgumentError where the data are enough to measure
  /// a model on, not to train it.
  virtual TrainTask task(Session& session) = 0;
  /// A line that shows what the model has learned, after an evaluation; may be empty.
  virtual std::string sample(Session&) { return {}; }
  /// After a whole training. `title` is what plots are called.
  virtual TaskReport report(Session& session, const TrainOutcome& outcome,
                            const std::string& title) = 0;
  /// The model, or another one of the same kind (converted, averaged), on all of the data that
  /// training held out. Throws DataError where there are none.
  virtual Evaluation measure(Session& session, const TrainedModel& model) = 0;
  /// The same as whole lines for people, tables included.
  virtual std::string measure_report(Session& session, const TrainedModel& model);

  /// Of a new model: the preset that its settings are from, and what it took over from the weights
  /// that it started from.
  std::string preset;
  std::optional<LoadReport> loaded;
  /// What else is to be said of how it was made: whole lines, mostly none.
  std::string notes;
};

/// A run of one kind of models.
template <class Model>
class RunOf : public TaskRun {
 public:
  explicit RunOf(std::unique_ptr<Model> model) : model_(std::move(model)) {}
  /// The model that is trained.
  TrainedModel& model() final { return *model_; }

 protected:
  /// What measure() is given.
  static const Model& known(const TrainedModel& model) { return dynamic_cast<const Model&>(model); }

  std::unique_ptr<Model> model_;
};

/// What models can be trained to do. Stateless.
class Task {
 public:
  virtual ~Task() = default;
  virtual const TaskInfo& info() const = 0;
  /// Its own options, without those that all tasks have.
  virtual TaskOptions options() const = 0;
  /// The fields of its models' config that are options, and those that are not.
  virtual TaskFields config_fields() const = 0;
  /// The first is the default.
  virtual std::vector<PresetAbout> presets() const = 0;
  /// A model of its kind without anything in it: to be read from a file.
  virtual std::unique_ptr<TrainedModel> empty_model() const = 0;

  /// A new model, not yet trainable (make_trainable), over the data that the arguments name. Throws
  /// ArgumentError where what was asked for makes no sense, DataError and FormatError for what is
  /// wrong with files.
  virtual std::unique_ptr<TaskRun> start(const TaskArguments& args) const = 0;
  /// A model of the task over the data that `options` name. Throws as start().
  virtual std::unique_ptr<TaskRun> open(std::unique_ptr<TrainedModel> model,
                                        const OptionValues& options) const = 0;

  /// The model that a folder of Hugging Face's library holds, over the inputs and with the programs
  /// that the uses below need; it cannot be trained. Null where the folder's class is none of the
  /// task's. Throws ArgumentError for a config that is not supported and for a tokenizer that does
  /// not fit, FormatError where a tokenizer is wanted and there is none, and as hf::load_weights.
  virtual std::unique_ptr<TrainedModel> from_folder(const hf::Folder& folder,
                                                    const FolderTokenizer& text) const;

  /// The inverse, of any model of the task: what a folder of the library says of it. Its weights
  /// are still to be added. Throws ArgumentError that names what the library has no class for.
  virtual FolderModel to_folder(const TrainedModel& model) const = 0;

  /// Whether info() names the use.
  bool can(Use use) const;
  /// What is said of a use that models of the task have not: "a text classifier, which writes
  /// nothing: it is for weft classify and weft embed".
  std::string refusal(Use use) const;

  /// The likeliest classes of every input (a text, or the path of an image), the likeliest first:
  /// what weft classify prints. Throws FormatError with the refusal where models of the task know
  /// none; so do the uses below.
  virtual std::vector<std::vector<ClassScore>> classify(Session& session, const TrainedModel& model,
                                                        const std::vector<std::string>& inputs,
                                                        const ClassifyOptions& options) const;
  /// The words of every text, each with the model's tag, and the spans that tags mark: what weft
  /// tag prints. Throws FormatError where models of the task know no tags.
  virtual std::vector<TaggedText> tag(Session& session, const TrainedModel& model,
                                      const std::vector<std::string>& texts,
                                      const TagOptions& options) const;
  /// What may stand in the hidden places of every text (a text says "[MASK]", or what the tokenizer
  /// calls it), `most` guesses for each: what weft fill prints. Throws FormatError where models of
  /// the task do not guess, DataError where a text hides nothing.
  virtual std::vector<std::vector<HiddenPlace>> fill(Session& session, const TrainedModel& model,
                                                     const std::vector<std::string>& texts,
                                                     const FillOptions& options) const;
  /// The parts of every question's context that answer it, the best first: what weft answer prints.
  /// Throws FormatError where models of the task find none.
  virtual std::vector<std::vector<Answer>> answer(Session& session, const TrainedModel& model,
                                                  const std::vector<Question>& questions,
                                                  const AnswerOptions& options) const;
  /// What every text is in another language, or whatever else the model answers to it: what weft
  /// translate prints.
  virtual std::vector<WrittenText> translate(Session& session, const TrainedModel& model,
                                             const std::vector<std::string>& texts,
                                             const TranslateOptions& options) const;
  /// What gives a vector for each text: what weft embed runs. Throws FormatError where models of
  /// the task have no encoder of texts, ArgumentError as text_encoder_in().
  virtual std::unique_ptr<TextEncoder> text_encoder(const TrainedModel& model) const;
  /// What writes with the model over a session; both must outlive it. Throws FormatError where
  /// models of the task write nothing.
  virtual std::unique_ptr<TextGenerator> text_generator(Session& session,
                                                        const TrainedModel& model) const;

 private:
  FormatError refused(Use use) const;
};

/// A task of one kind of models.
template <class Model>
class TaskOf : public Task {
 public:
  std::unique_ptr<TrainedModel> empty_model() const final { return std::make_unique<Model>(); }
};

/// `base` with the fields that were given. A short try of a preset warms up for a tenth of its
/// steps. Throws ArgumentError for illegal values, and for fields that mean nothing beside the
/// others.
TrainSettings chosen_settings(const TrainSettings& base, const FieldTexts& given);

/// The preset asked for (or the first), its settings replaced by what was given. Throws
/// ArgumentError for unknown names and illegal values.
template <class Config>
Preset<Config> chosen_preset(const std::vector<Preset<Config>>& presets,
                             const TaskArguments& args) {
  Preset<Config> chosen =
      find_preset(presets, args.preset.empty() ? presets.front().name : args.preset);
  chosen.training = chosen_settings(chosen.training, args.training);
  return chosen;
}
/// The config of the weights to start from, or else the preset's. Throws FormatError where the
/// weights are of another family.
template <class Config>
Config base_config(const Config& preset, const TaskArguments& args) {
  return args.from ? args.from->config_of<Config>() : preset;
}
/// `base` with the fields of the config that were given. Throws ArgumentError for illegal values,
/// and as args.check_size.
template <class Config>
Config chosen_config(const Config& base, const TaskArguments& args) {
  const Config config = Config::fields().with(base, args.model);
  if (args.check_size) args.check_size(config);
  return config;
}
/// Rows of the table of embeddings: as many as the tokenizer has ids, or as the weights have that
/// are started from, `known`, which may be more.
std::int64_t table_rows(std::int64_t known, const Tokenizer& tokenizer, const TaskArguments& args);
/// Names and descriptions of presets.
template <class AnyPreset>
std::vector<PresetAbout> abouts(const std::vector<AnyPreset>& presets) {
  std::vector<PresetAbout> result;
  for (const AnyPreset& preset : presets) result.push_back({preset.name, preset.about});
  return result;
}

/// Gives a new model the weights that `args` start from, where there are any. Parameters of
/// `also_new` start anew, too. Throws ArgumentError where they do not fit.
std::optional<LoadReport> start_weights(TrainedModel& model, const TaskArguments& args,
                                        const std::vector<std::string>& also_new = {});
/// The same of those weights as they were adapted.
std::optional<LoadReport> start_weights(TrainedModel& model, const TaskArguments& args,
                                        const TensorMap& weights,
                                        const std::vector<std::string>& also_new);
/// Of a classifier's parameters those that start anew: its head, where the weights to start from
/// know other classes, of which it says nothing.
std::vector<std::string> head_of_other_classes(const TaskArguments& args,
                                               const std::vector<std::string>& classes);

/// A run of a new model, made of `parts`.
template <class Run, class... Parts>
std::unique_ptr<TaskRun> new_run(const std::string& preset, std::optional<LoadReport> loaded,
                                 const std::string& notes, Parts&&... parts) {
  auto run = std::make_unique<Run>(std::forward<Parts>(parts)...);
  run->preset = preset;
  run->loaded = std::move(loaded);
  run->notes = notes;
  return run;
}

/// The task's options for a text tokenizer of pieces, "--vocab".
inline constexpr IntegerRange<std::int64_t> kVocabRange{16, 1'000'000};

/// The model as its kind. Throws ArgumentError where it is of another one.
template <class Model>
std::unique_ptr<Model> model_as(std::unique_ptr<TrainedModel> model) {
  auto* known = dynamic_cast<Model*>(model.get());
  if (known == nullptr) {
    throw ArgumentError(fmt::format("a {} was given, where a {} is wanted", model->layout().kind,
                                    Model::file_layout().kind));
  }
  static_cast<void>(model.release());
  return std::unique_ptr<Model>(known);
}

/// `value`, which was measured: NaN and infinity are no results. Throws DataError that says so of
/// `what` ("the perplexity").
double finite_figure(double value, std::string_view what);

}  // namespace weft
