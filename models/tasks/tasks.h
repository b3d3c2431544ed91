// The list of all tasks, and loading and saving of their models.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// The tasks of `weft train`, in the order in which the help lists them. The first task of a family
/// is its default.
const std::vector<const Task*>& all_tasks();
/// Tasks that cannot be trained: their models are loaded from Hugging Face folders only.
const std::vector<const Task*>& untrained_tasks();
/// A model family, named as in `weft train NAME`, and a line about it for the help.
struct FamilyDescription {
  std::string name, about;
};
/// The model families that `weft train` supports.
const std::vector<FamilyDescription>& families();
/// Returns the task with this id, trainable or not, or null if the id is unknown.
const Task* find_task(std::string_view id);
/// Returns the trainable tasks of a family.
std::vector<const Task*> tasks_of(std::string_view family);

/// A loaded model and the task that it was trained for.
struct LoadedModel {
  const Task& task;
  std::unique_ptr<TrainedModel> model;
};
/// Loads the model in a .weft file or in a Hugging Face folder, whatever its task. Callers need not
/// distinguish the two, except that a model from a folder cannot be trained. Throws the same
/// exceptions as read_model, hf::read_folder and Task::from_folder; FormatError if there is no
/// trained model, or if its task or class is not supported.
LoadedModel load_any_model(const std::string& path);
/// As load_any_model(), for one use of the model. Throws FormatError, which lists the supported
/// uses, if `use` is not one of them.
LoadedModel load_model_for(Use use, const std::string& path);

/// Writes a model of any task as a folder that Hugging Face transformers and load_any_model() can
/// read: config.json, model.safetensors, the tokenizer, and the settings for generation, chat and
/// image preprocessing. If the model came from a folder, settings of that folder are kept unless
/// the model overrides them. Quantised weights are written as f32. The folder is written completely
/// or not at all; an existing model folder is replaced. Throws ArgumentError, naming the field,
/// head or part, if transformers has no class for it, and for a model with adapters, which must be
/// merged first; also throws the same exceptions as hf::check_folder_target(); IoError.
FolderReport save_folder(const std::string& path, const TrainedModel& model,
                         const FolderOptions& options = {});

}  // namespace weft
