// All tasks.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/tasks/common/task.h"

namespace weft {

/// In the order in which the help names them; of a family the first is the default.
const std::vector<const Task*>& all_tasks();
/// What models are called that tasks of a kind train: weft train NAME.
struct FamilyAbout {
  std::string name, about;
};
const std::vector<FamilyAbout>& families();
/// Null where there is none.
const Task* find_task(std::string_view id);
/// The tasks of a family.
std::vector<const Task*> tasks_of(std::string_view family);

/// The task of a .weft file. Throws IoError; FormatError where it holds no trained model, or one of
/// a task that this program does not know.
const Task& task_of_file(const std::string& path);
/// The model in a .weft file, whatever its task. Throws as that and read_model.
std::unique_ptr<TrainedModel> load_any_model(const std::string& path);

}  // namespace weft
