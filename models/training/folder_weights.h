// Loads the weights of Hugging Face folders into trained models.
#pragma once

#include "weft/models/hf/folder.h"
#include "weft/models/training/model.h"

namespace WEFT_API weft {

/// Sets the store of `model`. The programs of `model` read the variables that `built` declares in
/// its graph. Matrices [outputs, inputs] and tables that the folder stores in bf16 stay bf16
/// (graph/weights/quantized_weights.h) and are views of the mapped files: loading does not read
/// them, and they need no memory except the pages of the file. Products widen their elements, so
/// that the results equal those of f32 copies up to rounding. All other weights become f32.
/// Folder::widen converts all weights to f32. Throws the same exceptions as hf::load_weights().
void load_folder_weights(TrainedModel& model, const hf::Model& built, const hf::Folder& folder);

}  // namespace weft
