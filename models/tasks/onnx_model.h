// Trained models as ONNX files.
#pragma once

#include <cstdint>
#include <string>

#include "weft/models/training/model.h"

namespace WEFT_API weft {

/// Returns the program that an ONNX file of this model contains. `name` is the name of one of its
/// inference programs ("classify", "mean"), or "logits" for the logits of a model with a
/// cross-entropy in its program "evaluate": language models, masked language models, and
/// translators with given targets. If `name` is empty, returns the first inference program of the
/// model type, or the logits if its inference programs keep caches between runs. Throws an
/// ArgumentError that lists the programs if no program has this name, or if the program updates
/// caches.
Program onnx_program(const TrainedModel& model, const std::string& name = {});

/// Writes onnx_program(model, name) with the opset `opset`. The metadata contain the parts of the
/// model (config, tokenizer, class names), so that `load_pretrained` can start from the file, and
/// the class names under the key "labels". Throws the errors of write_onnx().
void save_onnx(const std::string& path, const TrainedModel& model, const std::string& name = {},
               std::int64_t opset = 17);

}  // namespace weft
