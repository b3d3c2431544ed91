// Trained models and their files. A file holds the graph, programs and variables of a model, and
// parts such as its config and tokenizer. This header defines what all models share; each kind of
// model adds its members and lists the parts of its file.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/graph/ir/program.h"
#include "weft/graph/run/session.h"
#include "weft/graph/weights/lora.h"
#include "weft/models/families/family_config.h"
#include "weft/models/hf/origin.h"
#include "weft/models/train/settings.h"
#include "weft/models/trained/file_part.h"

namespace WEFT_API weft {

/// Names of attachments that many kinds of models have.
inline constexpr const char* kConfigPart = "model.config";
inline constexpr const char* kTokenizerPart = "model.tokenizer";
inline constexpr const char* kClassesPart = "model.classes";
inline constexpr const char* kHeadPart = "model.head";
inline constexpr const char* kLoraPart = "train.lora";
inline constexpr const char* kOriginPart = "model.origin";

/// The contents of model files of one kind.
struct ModelLayout {
  std::string kind;  // name of the kind in messages: "text classifier"
  /// Programs other than "train", in file order.
  std::vector<std::string> programs;
  /// The subset of `programs` that files of the first versions may lack.
  std::vector<std::string> added_programs = {};
  /// Programs with other names in files of the first versions: {old, new}.
  std::vector<std::pair<std::string, std::string>> renamed_programs = {};
  std::string config_type = {};  // attachment type of the configuration: "weft.config.encoder"
  /// The parts that are specific to this kind, without settings and history. The first part is the
  /// configuration.
  std::vector<FilePart> parts = {};
  /// Number of plans that sessions cache, for kinds with batches of many lengths; 0 = default.
  int plan_cache = 0;

  /// Adds the configuration, which must be the first part of every kind.
  template <class Model, class Config>
  ModelLayout& config(Config Model::*member) {
    config_type = kConfigType<Config>;
    return part(kConfigPart, kConfigType<Config>, member);
  }
  /// Adds the tokenizer. Its attachment type depends on the kind of tokenizer.
  template <class Model, class Tokenizer>
  ModelLayout& tokenizer(Tokenizer Model::*member) {
    return part(kTokenizerPart, "", member);
  }
  /// Adds a part that every file has or, if the member is a std::optional, only the files of models
  /// with a value for it.
  template <class Model, class T>
  ModelLayout& part(const char* name, const char* type, T Model::*member) {
    parts.push_back(detail::make_part(name, type, member));
    return *this;
  }
  /// Adds a part that files of the first versions lack. For these files, the member keeps its
  /// default value.
  template <class Model, class T>
  ModelLayout& added_part(const char* name, const char* type, T Model::*member) {
    part(name, type, member);
    parts.back().required = false;
    return *this;
  }
};

/// Programs by name.
using Programs = std::map<std::string, Program, std::less<>>;

/// The members of every trained model. A loaded model does not run the code that built it: its
/// programs are read from the file.
struct TrainedModel {
  std::string task;  // id of its task: "masked-image"
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  /// By name. "train" is one complete training step, as made by add_training_step(). Models with
  /// quantised weights have it only if they have adapters.
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
  /// Returns a copy that shares graph and store.
  virtual std::unique_ptr<TrainedModel> clone() const = 0;
  /// Throws ArgumentError if the parts of the model are inconsistent.
  virtual void check() const {}

  /// Returns null if there is no such program.
  const Program* find_program(std::string_view name) const;
  /// Throws ArgumentError that lists the existing programs if there is no such program.
  const Program& program(std::string_view name) const;
  /// Returns true if the model has a program with this name.
  bool has_program(std::string_view name) const { return programs.find(name) != programs.end(); }
  /// Adds an empty program, replacing an existing one with the same name.
  Program& add_program(const std::string& name);
  bool can_train() const { return has_program("train"); }
  /// Returns all programs in the order of their names.
  std::vector<Program> all_programs() const;
  /// Replaces the graph and all programs. `programs` are rewritten copies of all_programs(), in the
  /// same order.
  void replace_programs(std::shared_ptr<Graph> graph, const std::vector<Program>& programs);
};

/// Base class of a kind of model: struct TextClassifier : ModelKind<TextClassifier> { ... }, which
/// must define `static const ModelLayout& file_layout()`.
template <class Model>
struct ModelKind : TrainedModel {
  const ModelLayout& layout() const override { return Model::file_layout(); }
  std::unique_ptr<TrainedModel> clone() const override {
    return std::make_unique<Model>(static_cast<const Model&>(*this));
  }
};

/// Returns a copy for inference, without the program "train". Its file contains neither the nodes
/// of that program nor the optimizer state.
std::unique_ptr<TrainedModel> without_training(const TrainedModel& model);

/// Returns `options` for a session that runs the model, with the plan cache size that its kind
/// needs.
SessionOptions session_options(const TrainedModel& model, SessionOptions options = {});

/// Writes `model` with the variables of its store. The file is replaced atomically. Throws IoError;
/// StateError if the store is torn or lacks variables.
void save_model(const std::string& path, const TrainedModel& model);
/// As above, but written by all ranks in the World of `session`, which trains the model. Each rank
/// writes its part, and nothing is gathered (see save_checkpoint_in_shards).
void save_model_in_shards(const std::string& path, const TrainedModel& model, Session& session);

/// Fills `model` from a file of its kind. Throws IoError; FormatError, also if the file holds
/// another kind of model; DataError for a parameter or moment that is not finite.
void read_model(const std::string& path, TrainedModel& model);
/// As above, for a file that was already loaded, with LoadOptions::verify.
void read_model(const Checkpoint& file, const std::string& path, TrainedModel& model);

/// Reads a file written by save_model(): load_model<TextClassifier>("spam.weft"). Throws as
/// read_model.
template <class Model>
Model load_model(const std::string& path) {
  Model model;
  read_model(path, model);
  return model;
}

/// Returns the id of the task of the model in a file. Files of the first versions do not contain
/// it; for these, it is inferred from their contents. Returns "" if the file holds no trained
/// model.
std::string task_of(const Checkpoint& file);

/// Returns true if the graph has quantised weights (see quantize()). Such a model can only be used
/// for inference and to train adapters.
bool is_quantized(const Graph& graph);

/// Returns the training history in a file; empty if the file has none. Throws IoError, FormatError.
TrainHistory read_history(const std::string& path);

}  // namespace weft
