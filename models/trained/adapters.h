// Low-rank adapters (LoRA) of trained models.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/weights/lora.h"
#include "weft/models/fields/field_list.h"

namespace WEFT_API weft {

struct Pretrained;
struct TrainedModel;

/// The adapter options that model files contain: rank, alpha and dropout.
const FieldList<LoraOptions>& lora_fields();

/// Adds adapters to the matrices of a model. Its program "train" must have only the output "loss",
/// and no training step yet. Graph, programs and store are replaced; the new store shares the
/// tensors of the old one. The parameters `fresh`, which have no trained weights (a new head), are
/// initialised and trained without adapters. Throws ArgumentError as add_lora.
void add_adapters(TrainedModel& model, const LoraOptions& options,
                  const std::vector<std::string>& fresh = {});

/// Returns the patterns for quantize(). For a model with adapters, these are the names of the
/// matrices that match `patterns`, without the adapters, which always stay floats. For other
/// models, they are `patterns`. Throws ArgumentError for a pattern that matches adapters only, or
/// nothing.
std::vector<std::string> quantized_patterns(const TrainedModel& model,
                                            const std::vector<std::string>& patterns);

/// Prepares a new model, which has no variables yet, for the quantised weights of `from`: its
/// matrices get the formats that they have in `from`. The model can then load these weights, and
/// train adapters on them. Matrices that match a pattern of `reinit` stay floats. Throws
/// ArgumentError for mismatched shapes.
void keep_quantized(TrainedModel& model, const Pretrained& from,
                    const std::vector<std::string>& reinit);

/// Returns the adapters of a model. Throws ArgumentError if it has none.
LoraAdapters lora_adapters(const TrainedModel& model);

}  // namespace weft
