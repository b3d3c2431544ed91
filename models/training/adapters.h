// Low-rank adapters (LoRA) for trained models.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weft/graph/weights/lora.h"
#include "weft/models/fields/field_list.h"

namespace WEFT_API weft {

struct Pretrained;
struct TrainedModel;

/// Returns true for the names of variables that belong to adapters.
bool is_adapter_variable(std::string_view name);

/// Returns the adapter options that all model files with adapters contain: rank, alpha and dropout.
const FieldList<LoraOptions>& lora_fields();
/// Returns the adapter options as a JSON object: lora_fields(), and the others if they are not the
/// defaults. Names of matrices and programs (LoraOptions::patterns, training) are not stored.
std::string lora_json(const LoraOptions& options);
/// Inverse of lora_json(). Throws FormatError if the JSON is invalid.
LoraOptions parse_lora(std::string_view json);

/// Adds adapters to the weight matrices of a model. The program "train" must have "loss" as its
/// only output and must not contain a training step yet. The graph, the programs and the store are
/// replaced; the new store shares the tensors of the old one. `fresh` lists parameters without
/// trained weights, such as a new head; these are initialised and trained without adapters. Throws
/// ArgumentError under the same conditions as add_lora.
void add_adapters(TrainedModel& model, const LoraOptions& options,
                  const std::vector<std::string>& fresh = {});
/// As above, with the values of trained adapters, for use or for further training. Parameters that
/// `adapters` replaces are trained too. Throws ArgumentError under the same conditions as
/// add_lora(), or if the model already has adapters.
void add_adapters(TrainedModel& model, const TrainedAdapters& adapters,
                  const std::vector<std::string>& fresh = {});

/// Adds the adapters of `from` to the matrices of the same names in `to`, a model with the same
/// base weights (for example, the encoder of a classifier). Does nothing if there are no such
/// matrices.
void share_adapters(const TrainedModel& from, TrainedModel& to);

/// Sets the store of `to` to that of `from`. The programs of `to` declare parameters of `from`
/// under the same names, for example those of an encoder without its head. Weights that are
/// quantised in `from` are also quantised in `to`, caches have the same format, and the adapters of
/// `from` are added.
void share_weights(const TrainedModel& from, TrainedModel& to);

/// Returns the patterns to pass to quantize(). For a model with adapters, these are the names of
/// the matrices that match `patterns`, except for the adapters, which are never quantised. For a
/// model without adapters, returns `patterns` unchanged. Throws ArgumentError if a pattern matches
/// nothing, or only adapters.
std::vector<std::string> quantized_patterns(const TrainedModel& model,
                                            const std::vector<std::string>& patterns);

/// Prepares a new model, which must not have variables yet, for the quantised weights of `from`.
/// Its matrices are declared with the same quantisation formats as in `from`, so that the model can
/// load these weights and train adapters on them. Matrices that match a pattern in `reinit` are not
/// quantised. Throws ArgumentError if shapes differ.
void keep_quantized(TrainedModel& model, const Pretrained& from,
                    const std::vector<std::string>& reinit);

/// Returns the adapters of a model. Throws ArgumentError if the model has no adapters.
LoraAdapters lora_adapters(const TrainedModel& model);

}  // namespace weft
