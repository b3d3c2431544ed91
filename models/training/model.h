// Trained models and their files. A file contains the graph, programs and variables of a model, and
// other parts such as its config and tokenizer. This header defines the members that all models
// have in common. Each model type adds its own members and lists the parts of its file.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/core/error.h"
#include "weft/graph/ir/program.h"
#include "weft/graph/run/session.h"
#include "weft/graph/weights/lora.h"
#include "weft/models/families/family_config.h"
#include "weft/models/hf/origin.h"
#include "weft/models/training/file_part.h"
#include "weft/models/training/settings.h"
#include "weft/models/training/use.h"

namespace WEFT_API weft {

/// Attachment names used by many model types.
inline constexpr const char* kConfigPart = "model.config";
inline constexpr const char* kTokenizerPart = "model.tokenizer";
inline constexpr const char* kClassesPart = "model.classes";
inline constexpr const char* kHeadPart = "model.head";
inline constexpr const char* kGenerationPart = "model.generation";
inline constexpr const char* kLoraPart = "train.lora";
inline constexpr const char* kOriginPart = "model.origin";

/// Describes one model type: its inference tasks and its file contents.
struct ModelLayout {
  std::string kind;  // name of the model type in messages: "text classifier"
  /// The inference tasks that models of this type support.
  std::vector<Use> uses = {};
  /// Programs other than "train", in file order.
  std::vector<std::string> programs = {};
  /// The subset of `programs` that may be missing from files written by the first versions.
  std::vector<std::string> added_programs = {};
  /// Programs that had another name in files written by the first versions: {old, new}.
  std::vector<std::pair<std::string, std::string>> renamed_programs = {};
  std::string config_type = {};  // attachment type of the config: "weft.config.encoder"
  /// The parts that are specific to this model type; settings and history are not included. The
  /// first part is the config.
  std::vector<FilePart> parts = {};
  /// Number of plans that sessions cache, for model types with batches of many different lengths; 0
  /// = default.
  int plan_cache = 0;

  /// Returns true if models of this type support the inference task.
  bool can(Use use) const;
  /// Returns the error message for an inference task that models of this type do not support: "a
  /// text classifier, which does not generate text; use it with weft classify, weft embed".
  std::string unsupported_use_message(Use use) const;

  /// Adds the config, which must be the first part of every model type.
  template <class Model, class Config>
  ModelLayout& config(Config Model::*member) {
    config_type = kConfigType<Config>;
    return part(kConfigPart, kConfigType<Config>, member);
  }
  /// Adds the tokenizer. Its attachment type depends on the tokenizer type.
  template <class Model, class Tokenizer>
  ModelLayout& tokenizer(Tokenizer Model::*member) {
    return part(kTokenizerPart, "", member);
  }
  /// Adds a part. If the member is a std::optional, files of models without a value do not contain
  /// the part; otherwise every file contains it.
  template <class Model, class T>
  ModelLayout& part(const char* name, const char* type, T Model::*member) {
    parts.push_back(detail::make_part(name, type, member));
    return *this;
  }
  /// Adds a part that is missing from files written by the first versions. When such a file is
  /// read, the member keeps its default value.
  template <class Model, class T>
  ModelLayout& added_part(const char* name, const char* type, T Model::*member) {
    part(name, type, member);
    parts.back().required = false;
    return *this;
  }
};

/// Programs, indexed by name.
using Programs = std::map<std::string, Program, std::less<>>;

/// The members that every trained model has. A loaded model does not run the code that built it,
/// because its programs are read from the file.
struct TrainedModel {
  /// Id of its task: "masked-image". Empty if load_model() read a file of the first versions.
  std::string task;
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  /// Programs by name. "train" is one complete training step, as made by add_training_step().
  /// Models with quantised weights have a program "train" only if they have adapters.
  Programs programs;
  std::shared_ptr<VariableStore> store = std::make_shared<VariableStore>();
  TrainSettings settings;
  TrainHistory history;
  /// Set if the model has adapters.
  std::optional<LoraOptions> lora;
  /// Settings files of the Hugging Face folder that the weights originally came from, if any.
  std::optional<hf::FolderOrigin> origin;

  TrainedModel() = default;
  TrainedModel(const TrainedModel&) = default;
  TrainedModel(TrainedModel&&) = default;
  TrainedModel& operator=(const TrainedModel&) = default;
  TrainedModel& operator=(TrainedModel&&) = default;
  virtual ~TrainedModel() = default;

  virtual const ModelLayout& layout() const = 0;
  /// Returns a copy that shares the graph and the store.
  virtual std::unique_ptr<TrainedModel> clone() const = 0;
  /// Throws ArgumentError if the parts of the model are inconsistent.
  virtual void check() const {}

  /// Returns this model as a `T` for the inference task `use`. `T` is a model type, or an interface
  /// that several model types share. If this model has another type, throws a FormatError that
  /// lists the inference tasks of its type.
  template <class T>
  const T& as(Use use) const {
    if (const auto* found = dynamic_cast<const T*>(this)) return *found;
    throw FormatError("the model is " + layout().unsupported_use_message(use));
  }

  /// Returns the program with this name, or null if there is none.
  const Program* find_program(std::string_view name) const;
  /// Returns the program with this name. If there is none, throws an ArgumentError that lists the
  /// existing programs.
  const Program& program(std::string_view name) const;
  /// Returns true if the model has a program with this name.
  bool has_program(std::string_view name) const { return programs.find(name) != programs.end(); }
  /// Adds an empty program, replacing an existing one with the same name.
  Program& add_program(const std::string& name);
  bool can_train() const { return has_program("train"); }
  /// Returns all programs, sorted by name.
  std::vector<Program> all_programs() const;
  /// Replaces the graph and all programs. `programs` are rewritten copies of all_programs(), in the
  /// same order.
  void replace_programs(std::shared_ptr<Graph> graph, const std::vector<Program>& programs);
};

/// Base class of all model types, for example struct ImageClassifier : ModelKind<ImageClassifier> {
/// ... }. The model type must define `static const ModelLayout& file_layout()`. `Base` contains the
/// members that several model types have in common.
template <class Model, class Base = TrainedModel>
struct ModelKind : Base {
  const ModelLayout& layout() const override { return Model::file_layout(); }
  std::unique_ptr<TrainedModel> clone() const override {
    return std::make_unique<Model>(static_cast<const Model&>(*this));
  }
};

/// Returns a copy for inference, without the program "train". The file of the copy contains neither
/// the nodes of that program nor the optimizer state.
std::unique_ptr<TrainedModel> without_training(const TrainedModel& model);

/// Returns `options` for a session that runs the model, with the plan cache size that its model
/// type needs.
SessionOptions session_options(const TrainedModel& model, SessionOptions options = {});

/// Returns the parts of a model as the attachments of its file.
std::vector<Attachment> attachments_of(const TrainedModel& model);

/// Writes `model` and the variables in its store. The file is replaced atomically. Throws IoError
/// if the file cannot be written, and StateError if the store is torn or variables are missing.
void save_model(const std::string& path, const TrainedModel& model);
/// As above, but all ranks in the World of `session`, which trains the model, write the file
/// together. Each rank writes its part, and nothing is gathered (see save_checkpoint_in_shards).
void save_model_in_shards(const std::string& path, const TrainedModel& model, Session& session);

/// Fills `model` from a file that contains the same model type. Throws IoError if the file cannot
/// be read, FormatError if it is invalid or contains another model type, and DataError if a
/// parameter or moment is not finite. A file that was verified before and has not changed is not
/// verified again (LoadOptions::once).
void read_model(const std::string& path, TrainedModel& model);
/// As above, for a file that was already loaded with LoadOptions::verify.
void read_model(const Checkpoint& file, const std::string& path, TrainedModel& model);

/// Reads a file written by save_model(), for example load_model<TextClassifier>("spam.weft").
/// Throws the same exceptions as read_model.
template <class Model>
Model load_model(const std::string& path) {
  Model model;
  read_model(path, model);
  return model;
}

/// Returns the task id of the model in a file, or "" if the file contains none. Files written by
/// the first versions do not contain the id; see legacy_task().
std::string task_of(const Checkpoint& file);

/// Returns true if the graph has quantised weights (see quantize()). Such a model can only be used
/// for inference and for training adapters.
bool is_quantized(const Graph& graph);

/// Returns the training history in a file, or an empty history if the file contains none. Throws
/// IoError or FormatError if the file cannot be read.
TrainHistory read_history(const std::string& path);

}  // namespace weft
