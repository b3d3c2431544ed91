// The list of all tasks, functions that load and save models of any task, and inference with these
// models:
//
//   const LoadedModel loaded = load_model_for(Use::tag, "tagger.weft");
//   Session session(*loaded.model->graph, loaded.model->store);
//   const auto tagged = tag_texts(session, *loaded.model, {"she lives in York"});
//
//   weft classify               most_likely_classes(), zero_shot_classes()
//   weft tag                    tag_texts()
//   weft fill                   fill()
//   weft answer                 answer()
//   weft embed                  text_encoder(), image_encoder()
//   weft rerank                 rerank()
//   weft generate, chat, score  text_generator()
//   weft translate              translate_texts()
//   weft transcribe             transcribe_files()
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/fields/model_path.h"
#include "weft/models/gguf/model.h"
#include "weft/models/tasks/common/generative_model.h"
#include "weft/models/tasks/common/task.h"
#include "weft/models/tasks/common/text_encoder.h"
#include "weft/models/tasks/common/uses.h"
#include "weft/models/tasks/image_embedding/image_encoder.h"
#include "weft/models/tasks/image_text/zero_shot.h"
#include "weft/models/tasks/masked_tokens/fill.h"
#include "weft/models/tasks/seq2seq/seq2seq_model.h"
#include "weft/models/tasks/span_answering/span_answerer.h"
#include "weft/models/tasks/speech/transcribe.h"
#include "weft/models/tasks/text_ranking/rerank.h"
#include "weft/models/tasks/token_classification/token_classifier.h"

namespace WEFT_API weft {

/// Returns the tasks of `weft train`, in the order of the help text. The first task of a family is
/// its default.
const std::vector<const Task*>& all_tasks();
/// Returns the inference-only tasks. Their models are loaded only from Hugging Face folders.
const std::vector<const Task*>& untrained_tasks();
/// A model family, named as in `weft train NAME`, and its description for the help text.
struct FamilyDescription {
  std::string name, about;
};
/// Returns the model families that `weft train` supports.
const std::vector<FamilyDescription>& families();
/// Returns the task with this id (trainable or inference-only), or null if the id is unknown.
const Task* find_task(std::string_view id);
/// Returns the trainable tasks of a family.
std::vector<const Task*> tasks_of(std::string_view family);

/// A loaded model, and the task that it was trained for.
struct LoadedModel {
  const Task& task;
  std::unique_ptr<TrainedModel> model;
  /// Notes for users, for example on weights that were widened. Empty for .weft files and folders.
  std::vector<std::string> notes = {};
};
/// Loads a model for any task from a .weft file, a Hugging Face folder or a GGUF file. Callers need
/// not distinguish them, except that only models from .weft files can be trained. For an adapter
/// folder of the PEFT library, loads the base model that it names and adds the adapters, see
/// load_adapted_model(). Throws the same exceptions as read_model, hf::read_folder and
/// Task::from_folder. Throws FormatError if there is no trained model, or if its task or class is
/// not supported, and ArgumentError if the keys to ignore belong to a .weft file. For GGUF files,
/// throws the same exceptions as gguf::read_model() and gguf::load_weights().
LoadedModel load_any_model(const ModelPath& path);
/// Same as load_any_model(), for one inference task. If the model does not support `use`, throws a
/// FormatError that lists the supported inference tasks.
LoadedModel load_model_for(Use use, const ModelPath& path);

/// Loads the model `base` and adds adapters from a PEFT folder or an adapter file (save_lora()).
/// The base may be quantised. If both are folders, the tokenizer and the chat template of the
/// adapter folder are used if it has them. Throws the same exceptions as load_any_model() and
/// read_adapters(). The keys to ignore are those of both folders.
LoadedModel load_adapted_model(const ModelPath& base, const std::string& adapters);
/// As above, but does not add the adapters.
LoadedModel load_base_model(const ModelPath& base, const std::string& adapters);

/// Writes a model for any task as a folder that Hugging Face transformers and load_any_model() can
/// read: config.json, model.safetensors, the tokenizer, and the settings for generation, chat and
/// image preprocessing. If the model came from a folder, the settings in that folder are kept
/// unless the model overrides them. Quantised weights are written as f32. The folder is written
/// completely or not at all; an existing model folder is replaced. If transformers has no class for
/// a field, head or part of the model, throws an ArgumentError that names it. Throws ArgumentError
/// if the model has adapters, which must be merged first. Throws IoError if writing fails. Also
/// throws the same exceptions as hf::check_folder_target().
FolderReport save_folder(const std::string& path, const TrainedModel& model,
                         const FolderOptions& options = {});
/// Writes a decoder as a GGUF file, which llama.cpp and load_any_model() can read. Throws
/// ArgumentError if the model is not a decoder, and in the same cases as
/// LanguageModel::save_gguf().
gguf::WriteReport save_gguf(const std::string& path, const TrainedModel& model,
                            gguf::OutType type = gguf::OutType::automatic);
/// Writes only the adapters of a model, as an adapter folder of the PEFT library. `base` is the
/// path or published name of the base model (default: the recorded one). Throws the same exceptions
/// as write_adapter_folder().
FolderReport save_adapter_folder(const std::string& path, const TrainedModel& model,
                                 const std::string& base = {}, const FolderOptions& options = {});

}  // namespace weft
