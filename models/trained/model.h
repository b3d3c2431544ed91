// Trained models as one file each: graph, programs, variables, and what only models know of. What
// is common to all of them is here; a kind of model adds its members and lists what its file holds.
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

/// Attachments that many kinds of models have.
inline constexpr const char* kConfigPart = "model.config";
inline constexpr const char* kTokenizerPart = "model.tokenizer";
inline constexpr const char* kClassesPart = "model.classes";
inline constexpr const char* kHeadPart = "model.head";
inline constexpr const char* kLoraPart = "train.lora";
inline constexpr const char* kOriginPart = "model.origin";

/// What the files of a kind of model hold.
struct ModelLayout {
  std::string kind;  // what such a model is called: "text classifier"
  /// Programs besides "train", in the order in which files hold them.
  std::vector<std::string> programs;
  /// Of these, those that files of the first versions may lack.
  std::vector<std::string> added_programs = {};
  /// Programs that files of the first versions call otherwise: {old, new}.
  std::vector<std::pair<std::string, std::string>> renamed_programs = {};
  std::string config_type = {};  // of its configuration: "weft.config.encoder"
  /// Besides settings and history, which all have. The first is the configuration.
  std::vector<FilePart> parts = {};
  /// Plans that sessions keep, where batches are of many lengths; 0 = as many as usual.
  int plan_cache = 0;

  /// Adds the configuration, which every kind has and says first.
  template <class Model, class Config>
  ModelLayout& config(Config Model::*member) {
    config_type = kConfigType<Config>;
    return part(kConfigPart, kConfigType<Config>, member);
  }
  /// Adds the tokenizer, which says its type itself.
  template <class Model, class Tokenizer>
  ModelLayout& tokenizer(Tokenizer Model::*member) {
    return part(kTokenizerPart, "", member);
  }
  /// Adds a part that is in every file, or, for an optional member, in those of models that have
  /// it.
  template <class Model, class T>
  ModelLayout& part(const char* name, const char* type, T Model::*member) {
    parts.push_back(detail::make_part(name, type, member));
    return *this;
  }
  /// A part that files of the first versions lack: the member keeps its default there.
  template <class Model, class T>
  ModelLayout& added_part(const char* name, const char* type, T Model::*member) {
    part(name, type, member);
    parts.back().required = false;
    return *this;
  }
};

/// Programs by name.
using Programs = std::map<std::string, Program, std::less<>>;

/// What every trained model has. Loaded, it needs no model code: the programs come from the file.
struct TrainedModel {
  std::string task;  // what it was trained to do: "masked-image"
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  /// By name. "train" is one whole training step, as add_training_step makes it; there is none
  /// once the weights were quantised, but of adapters beside such weights.
  Programs programs;
  std::shared_ptr<VariableStore> store = std::make_shared<VariableStore>();
  TrainSettings settings;
  TrainHistory history;
  /// Where adapters are trained beside the model's own weights.
  std::optional<LoraOptions> lora;
  /// What is kept of the folder that the weights came from first, where they came from one.
  std::optional<hf::FolderOrigin> origin;

  TrainedModel() = default;
  TrainedModel(const TrainedModel&) = default;
  TrainedModel(TrainedModel&&) = default;
  TrainedModel& operator=(const TrainedModel&) = default;
  TrainedModel& operator=(TrainedModel&&) = default;
  virtual ~TrainedModel() = default;

  virtual const ModelLayout& layout() const = 0;
  /// A copy that shares graph and store.
  virtual std::unique_ptr<TrainedModel> clone() const = 0;
  /// Throws ArgumentError where parts do not fit each other.
  virtual void check() const {}

  /// Null where there is none.
  const Program* find_program(std::string_view name) const;
  /// Throws ArgumentError that lists the programs there are.
  const Program& program(std::string_view name) const;
  /// Whether there is a program of this name.
  bool has_program(std::string_view name) const { return programs.find(name) != programs.end(); }
  /// A new program of the model, to be filled.
  Program& add_program(const std::string& name);
  bool can_train() const { return has_program("train"); }
  /// The programs in order of their names.
  std::vector<Program> all_programs() const;
  /// Puts rewritten copies of all_programs() in their places.
  void replace_programs(std::shared_ptr<Graph> graph, const std::vector<Program>& programs);
};

/// A kind of model: struct TextClassifier : ModelKind<TextClassifier> { ... }, which has `static
/// const ModelLayout& file_layout()`.
template <class Model>
struct ModelKind : TrainedModel {
  const ModelLayout& layout() const override { return Model::file_layout(); }
  std::unique_ptr<TrainedModel> clone() const override {
    return std::make_unique<Model>(static_cast<const Model&>(*this));
  }
};

/// A copy that infers and cannot be trained: without the training's programs, so that its file
/// holds neither their nodes nor the state of optimizers.
std::unique_ptr<TrainedModel> without_training(const TrainedModel& model);

/// `options` for a session over the model: with as many plans as its kind needs.
SessionOptions session_options(const TrainedModel& model, SessionOptions options = {});

/// Writes `model` with its store's variables. The file is replaced as a whole or not at all. Throws
/// IoError; StateError where variables are torn or missing.
void save_model(const std::string& path, const TrainedModel& model);
/// The same by all ranks of the World of `session`, which trains the model: each writes a part, and
/// nothing is gathered (save_checkpoint_in_shards).
void save_model_in_shards(const std::string& path, const TrainedModel& model, Session& session);

/// Fills `model` from a file of its kind. Throws IoError; FormatError, also for a .weft file with
/// another kind of model in it; DataError for a parameter or moment that is not finite.
void read_model(const std::string& path, TrainedModel& model);
/// The same of a file that is open already, with LoadOptions::verify.
void read_model(const Checkpoint& file, const std::string& path, TrainedModel& model);

/// Reads what save_model wrote: load_model<TextClassifier>("spam.weft"). Throws as read_model.
template <class Model>
Model load_model(const std::string& path) {
  Model model;
  read_model(path, model);
  return model;
}

/// What the model in a file was trained to do: files of the first versions do not say so, but can
/// be told by what they hold. Empty where it is no trained model.
std::string task_of(const Checkpoint& file);

/// Whether the weights are kept in fewer bits (quantize()): such a model infers, and can only train
/// adapters.
bool is_quantized(const Graph& graph);

/// The history in a file; empty where it has none. Throws IoError, FormatError.
TrainHistory read_history(const std::string& path);

}  // namespace weft
