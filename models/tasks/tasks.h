// All tasks.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Those that weft train trains, in the order in which the help names them; of a family the first
/// is the default.
const std::vector<const Task*>& all_tasks();
/// Those whose models come from folders only.
const std::vector<const Task*>& untrained_tasks();
/// What models are called that tasks of a kind train: weft train NAME.
struct FamilyAbout {
  std::string name, about;
};
/// The kinds of models that `weft train` knows, with a line about each.
const std::vector<FamilyAbout>& families();
/// Null where there is none.
const Task* find_task(std::string_view id);
/// The tasks of a family.
std::vector<const Task*> tasks_of(std::string_view family);

/// A model from a file, and what it was trained to do.
struct LoadedModel {
  const Task& task;
  std::unique_ptr<TrainedModel> model;
};
/// The model in a .weft file, or in a folder of Hugging Face's library, whatever its task: who uses
/// it need not know where it came from, but that a folder's cannot be trained. Throws as
/// read_model, hf::read_folder and Task::from_folder; FormatError where there is no trained model,
/// or one of a task or class that this program does not know.
LoadedModel load_any_model(const std::string& path);
/// The same for one use of it. Throws FormatError, which names the uses that it has, where this is
/// none.
LoadedModel load_model_for(Use use, const std::string& path);

/// Writes a model of any task as a folder that Hugging Face's library reads, and load_any_model():
/// config.json, model.safetensors, its tokenizer, and what it says of generation, conversations and
/// images. What the folder said that the model came from stays where the model does not say
/// otherwise. Quantised weights become f32 again. The folder is written as a whole or not at all, a
/// model's that is there is replaced. Throws ArgumentError that names the field, the head or the
/// part that the library has no class for, also where there are adapters, which must be merged
/// first; as hf::check_folder_place(); IoError.
FolderReport save_folder(const std::string& path, const TrainedModel& model,
                         const FolderOptions& options = {});

}  // namespace weft
