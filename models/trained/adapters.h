// Low-rank adapters beside the weights of a trained model.
#pragma once

#include <string>
#include <vector>

#include "weft/graph/weights/lora.h"
#include "weft/models/fields/field_list.h"

namespace WEFT_API weft {

struct Pretrained;
struct TrainedModel;

/// What files keep of a model's adapters: rank, alpha and dropout.
const FieldList<LoraOptions>& lora_fields();

/// Puts adapters beside the matrices of a model whose "train" has no training step yet, only the
/// output "loss". Graph, programs and store become others, which share the tensors. Parameters
/// without weights yet, `fresh` (a new head), start anew and are trained themselves. Throws
/// ArgumentError as add_lora.
void add_adapters(TrainedModel& model, const LoraOptions& options,
                  const std::vector<std::string>& fresh = {});

/// What quantize() converts of a model's matrices that these patterns name: adapters are not among
/// them, they stay floats as beside weights that were in fewer bits before. Throws ArgumentError
/// for a pattern that names no other matrix.
std::vector<std::string> quantized_patterns(const TrainedModel& model,
                                            const std::vector<std::string>& patterns);

/// Keeps the matrices of a new model, whose variables are not made yet, in as few bits as they have
/// in `from`, whose weights it can then take over: adapters are trained beside them. Matrices that
/// match a pattern of `reinit` stay floats. Throws ArgumentError where shapes do not fit.
void keep_quantized(TrainedModel& model, const Pretrained& from,
                    const std::vector<std::string>& reinit);

/// The adapters of a model that has them. Throws ArgumentError where it has none.
LoraAdapters lora_adapters(const TrainedModel& model);

}  // namespace weft
