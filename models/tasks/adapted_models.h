// Models with low-rank adapters from adapter folders of the PEFT library and from adapter files,
// and the inverse. Adapters are matched by the parameter names of the transformers class to which
// the model would be exported (save_folder()).
#pragma once

#include <string>

#include "weft/graph/weights/lora.h"
#include "weft/models/fields/model_path.h"
#include "weft/models/tasks/common/folder_model.h"
#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Reads the adapters in a PEFT folder or in an adapter file (save_lora()) for `model`. Throws the
/// same exceptions as hf::read_adapter_folder(), hf::match_adapters(), load_lora() and
/// save_folder() (if no transformers class supports the model). Throws DataError if an adapter file
/// was trained on other weights.
TrainedAdapters read_adapters(const ModelPath& path, const TrainedModel& model, const Task& task);

/// Writes the adapters of a model as a PEFT folder. Parameters that were trained without adapters,
/// such as a new head, are stored as a whole (modules_to_save). `base` is the path or published
/// name of the base model; if it is empty, the recorded one is used. Throws ArgumentError if the
/// model has no adapters, or if PEFT or the transformers class cannot represent them. Otherwise as
/// save_folder().
FolderReport write_adapter_folder(const std::string& path, const TrainedModel& model,
                                  const Task& task, const std::string& base,
                                  const FolderOptions& options);

}  // namespace weft
