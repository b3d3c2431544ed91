// Image classification: weft train vit --task classify, weft train swin, weft train network.
#pragma once

#include "weft/models/tasks/common/task.h"

namespace WEFT_API weft {

/// Returns the task "classify" for vision transformers.
const Task& image_classification_task();
/// As above, for Swin transformers.
const Task& swin_classification_task();
/// As above, for networks of ONNX files.
const Task& network_classification_task();

}  // namespace weft
