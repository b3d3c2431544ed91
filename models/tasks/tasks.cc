#include "weft/models/tasks/tasks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "weft/core/error.h"
#include "weft/models/hf/adapters/adapter_folder.h"
#include "weft/models/hf/adapters/base_class.h"
#include "weft/models/tasks/adapted_models.h"
#include "weft/models/tasks/image_classification/task.h"
#include "weft/models/tasks/image_embedding/task.h"
#include "weft/models/tasks/image_text/task.h"
#include "weft/models/tasks/legacy_files.h"
#include "weft/models/tasks/masked_image/task.h"
#include "weft/models/tasks/masked_tokens/task.h"
#include "weft/models/tasks/next_token/language_model.h"
#include "weft/models/tasks/next_token/task.h"
#include "weft/models/tasks/seq2seq/task.h"
#include "weft/models/tasks/span_answering/task.h"
#include "weft/models/tasks/speech/task.h"
#include "weft/models/tasks/text_classification/task.h"
#include "weft/models/tasks/text_embedding/folder_text_encoder.h"
#include "weft/models/tasks/text_embedding/task.h"
#include "weft/models/tasks/text_similarity/task.h"
#include "weft/models/tasks/token_classification/task.h"
#include "weft/models/training/adapters.h"

namespace weft {

const std::vector<const Task*>& all_tasks() {
  static const std::vector<const Task*> tasks = {
      &next_token_task(),
      &instruction_tuning_task(),
      &masked_tokens_task(PretrainingObjective::mlm),
      &masked_tokens_task(PretrainingObjective::mlm_nsp),
      &masked_tokens_task(PretrainingObjective::mlm_sop),
      &masked_tokens_task(PretrainingObjective::rtd),
      &text_classification_task(),
      &token_classification_task(),
      &text_similarity_task(),
      &span_answering_task(),
      &translation_task(),
      &denoising_task(DenoisingObjective::span_corruption),
      &denoising_task(DenoisingObjective::ul2),
      &denoising_task(DenoisingObjective::denoising),
      &denoising_task(DenoisingObjective::gap_sentences),
      &transcription_task(),
      &image_classification_task(),
      &swin_classification_task(),
      &network_classification_task(),
      &masked_image_task(),
      &text_embedding_task(),
      &image_text_task(),
  };
  return tasks;
}

const std::vector<const Task*>& untrained_tasks() {
  static const std::vector<const Task*> tasks = {&decoder_classification_task(),
                                                 &encoder_decoder_classification_task(),
                                                 &image_embedding_task()};
  return tasks;
}

const std::vector<FamilyDescription>& families() {
  static const std::vector<FamilyDescription> all = {
      {"encoder",
       "Train a BERT encoder: pre-train it on unlabelled text, then fine-tune it to classify, tag "
       "or score texts, or to answer questions"},
      {"gpt",
       "Train a GPT: pre-train it on text (characters or subwords), then fine-tune it to follow "
       "instructions"},
      {"seq2seq",
       "Train an encoder-decoder: pre-train it on plain text, then train it on text pairs, for "
       "example to translate"},
      {"speech",
       "Train a speech recogniser on recordings and their texts, or fine-tune a Whisper model"},
      {"vit",
       "Train a vision transformer to classify images, or pre-train it on unlabelled images"},
      {"swin", "Train a Swin transformer, with attention in shifted windows, to classify images"},
      {"network", "Fine-tune the network of an ONNX file to classify images"},
      {"image-text",
       "Train an image tower and a text tower on images with captions (CLIP, SigLIP)"},
  };
  return all;
}

const Task* find_task(std::string_view id) {
  for (const auto* tasks : {&all_tasks(), &untrained_tasks()}) {
    const auto found = std::find_if(tasks->begin(), tasks->end(),
                                    [&](const Task* t) { return t->info().id == id; });
    if (found != tasks->end()) return *found;
  }
  return nullptr;
}

std::vector<const Task*> tasks_of(std::string_view family) {
  std::vector<const Task*> found;
  for (const Task* task : all_tasks()) {
    if (task->info().family == family) found.push_back(task);
  }
  return found;
}

namespace {

/// Throws FormatError unless models of this type support the inference task, if there is one.
void require_use(std::optional<Use> use, const TrainedModel& model, const std::string& path) {
  const ModelLayout& layout = model.layout();
  if (use && !layout.can(*use))
    throw FormatError(fmt::format("{} holds {}", path, layout.unsupported_use_message(*use)));
}

/// Loads the model in a folder. `use` is the intended inference task, if known. `settings` is this
/// folder, or a folder of adapters for the model. Its tokenizer is used if it has one.
LoadedModel load_folder(const ModelPath& from, std::optional<Use> use, const ModelPath& settings) {
  const std::string& path = from.path;
  hf::Folder folder = hf::read_folder(from);
  if (hf::is_adapter_folder(settings))
    folder = hf::with_adapter_head(std::move(folder), hf::read_adapter_folder(settings));
  const bool adapted = settings.path != path;
  const ModelPath own(folder.path, folder.ignored_keys);
  FolderTokenizer text = read_tokenizer_folder(adapted ? settings : own);
  if (adapted && !text.tokenizer) text = read_tokenizer_folder(own);
  std::vector<std::string> known;
  // A folder of Sentence Transformers is an embedding model, whatever its transformers class.
  const Task& embedding = text_embedding_task();
  std::vector<const Task*> order;
  if ((!use || *use == Use::embed) && holds_text_vectors(folder, use.has_value()))
    order = {&embedding};
  for (const auto* tasks : {&all_tasks(), &untrained_tasks()})
    std::copy_if(tasks->begin(), tasks->end(), std::back_inserter(order),
                 [&](const Task* task) { return task != &embedding; });
  if (order.front() != &embedding) order.push_back(&embedding);  // accepts any encoder
  for (const Task* task : order) {
    try {
      if (auto model =
              hf::with_folder_name(path, [&] { return task->from_folder(folder, text); })) {
        model->origin = hf::read_origin(folder);
        return {*task, std::move(model)};
      }
    } catch (const Error&) {
      // If the model does not support the intended inference task at all, report this instead of
      // other problems with the folder.
      require_use(use, *task->empty_model(), path);
      throw;
    }
    if (const std::string& classes = task->info().folders; !classes.empty())
      known.push_back(classes);
  }
  throw FormatError(fmt::format("{} holds a {}, which is not supported; supported classes are {}",
                                path, hf::architecture_of(folder.config), fmt::join(known, ", ")));
}

/// Returns the first task with models of this type, for models without a task.
const Task* task_of_type(const TrainedModel& model) {
  for (const Task* task : all_tasks()) {
    if (&task->empty_model()->layout() == &model.layout()) return task;
  }
  return nullptr;
}

LoadedModel load_gguf(const ModelPath& path) {
  std::vector<std::string> notes;
  auto model = language_model_of(gguf::read_model(path), &notes, !path.widen);
  return {next_token_task(), std::move(model), std::move(notes)};
}

LoadedModel load_file(const ModelPath& from) {
  const std::string& path = from.path;
  const Checkpoint file = load_checkpoint(path, {.verify = true, .once = !from.verify});
  std::string id = task_of(file);
  if (id.empty()) id = legacy_task(file);
  const Task* task = find_task(id);
  if (task == nullptr && !id.empty()) {
    throw FormatError(fmt::format(
        "{} holds a model for the task '{}', which this program does not support", path, id));
  }
  if (task == nullptr) {
    throw FormatError(fmt::format(
        "{} holds no trained model: the attachment '{}' is missing (weft train writes it)", path,
        kConfigPart));
  }
  LoadedModel loaded{*task, task->empty_model()};
  loaded.model->task = id;
  read_model(file, path, *loaded.model);
  return loaded;
}

LoadedModel load_base(const ModelPath& base, const ModelPath& adapters, std::optional<Use> use) {
  if (hf::is_adapter_folder(base)) {
    throw FormatError(fmt::format(
        "{} contains adapters, so it cannot be the base model of {}: merge them first (weft merge)",
        base.path, adapters.path));
  }
  if (gguf::is_gguf(base)) return load_gguf(base);
  if (!hf::is_folder(base)) return load_file(base);
  const bool has_settings = std::filesystem::is_directory(adapters.path);
  LoadedModel loaded = load_folder(base, use, has_settings ? adapters : base);
  if (auto* model = dynamic_cast<LanguageModel*>(loaded.model.get()); model && has_settings) {
    if (auto format = read_chat_format(adapters).format) model->chat = std::move(format);
  }
  return loaded;
}

LoadedModel load_adapted(const ModelPath& base, const ModelPath& adapters, std::optional<Use> use) {
  LoadedModel loaded = load_base(base, adapters, use);
  if (loaded.model->can_train()) loaded.model = without_training(*loaded.model);
  TrainedAdapters read = read_adapters(adapters, *loaded.model, loaded.task);
  read.options.base_model = base.path;
  add_adapters(*loaded.model, read);
  return loaded;
}

LoadedModel load(const ModelPath& path, std::optional<Use> use) {
  if (gguf::is_gguf(path)) return load_gguf(path);
  if (!hf::is_folder(path)) return load_file(path);
  if (!hf::is_adapter_folder(path)) return load_folder(path, use, path);
  ModelPath base = hf::read_adapter_folder(path).base();
  base.verify = path.verify;
  base.widen = path.widen;
  return load_adapted(base, path, use);
}

/// Returns the task of a model. Throws ArgumentError if this program does not support it.
const Task& task_of_model(const TrainedModel& model) {
  const Task* task = model.task.empty() ? task_of_type(model) : find_task(model.task);
  if (task != nullptr) return *task;
  throw ArgumentError(fmt::format(
      "the model was trained for the task '{}', which this program does not support", model.task));
}

}  // namespace

LoadedModel load_any_model(const ModelPath& path) { return load(path, std::nullopt); }

LoadedModel load_model_for(Use use, const ModelPath& path) {
  LoadedModel loaded = load(path, use);
  require_use(use, *loaded.model, path);
  return loaded;
}

LoadedModel load_adapted_model(const ModelPath& base, const std::string& adapters) {
  return load_adapted(hf::base_of_adapters(base, adapters), {adapters, base.ignored_keys},
                      std::nullopt);
}

LoadedModel load_base_model(const ModelPath& base, const std::string& adapters) {
  return load_base(hf::base_of_adapters(base, adapters), {adapters, base.ignored_keys},
                   std::nullopt);
}

FolderReport save_folder(const std::string& path, const TrainedModel& model,
                         const FolderOptions& options) {
  return write_folder(path, model, task_of_model(model).to_folder(model), options);
}

gguf::WriteReport save_gguf(const std::string& path, const TrainedModel& model,
                            gguf::OutType type) {
  const auto* decoder = dynamic_cast<const LanguageModel*>(&model);
  if (decoder == nullptr) {
    throw ArgumentError(fmt::format(
        "the model is a {}, but GGUF files of decoders only are supported", model.layout().kind));
  }
  return decoder->save_gguf(path, type);
}

FolderReport save_adapter_folder(const std::string& path, const TrainedModel& model,
                                 const std::string& base, const FolderOptions& options) {
  return write_adapter_folder(path, model, task_of_model(model), base, options);
}

}  // namespace weft
