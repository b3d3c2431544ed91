// Exports models to Hugging Face form. This is the inverse of build_model() and match_weights().
//
// The descriptions of keys that are used to read config.json are also used to write it. As a check,
// the class is built from the written config.json and compared with the model. The exported tensors
// have the names that this class uses.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/models/families/family_config.h"
#include "weft/models/hf/model.h"

namespace WEFT_API weft {
namespace hf {

/// A model to export.
struct ModelToExport {
  FamilyConfig family;
  TensorMap weights;  // parameters and buffers as floats, keyed by Weft's names
  /// Suffixes of the possible class names, in order of preference, for example "ForMaskedLM".
  std::vector<std::string> endings;
  /// Properties of the head that are not part of any config. The exported class must have the same
  /// properties.
  std::optional<MaskedLmOptions> masked_lm = {};
  std::optional<Activation> pooler = {};
  /// Label names of a classifier. Empty if the model is not a classifier.
  std::vector<std::string> labels = {};
  /// How a classifier interprets its labels, for example "regression". If not set, the problem type
  /// of the original folder is kept.
  std::optional<std::string> problem_type = {};
  /// The function that Sentence Transformers applies to the output for a text pair, as a dotted
  /// path in PyTorch (sentence_transformers.activation_fn). Empty: as in the original folder.
  std::string pair_activation = {};
  /// Name prefixes of tensors that were not trained. If such a tensor is missing, zeros are
  /// written.
  std::vector<std::string> untrained = {};
};

/// The config.json and the tensors of an exported model.
struct ExportedModel {
  std::string type, architecture;  // for example "bert" and "BertForMaskedLM"
  std::string config;              // the contents of config.json
  TensorMap weights;               // keyed by Hugging Face names; shared tensors occur once
  TensorMap tied = {};             // the shared tensors under their further names
  /// Training settings for which the model type has no key, for example "residual_dropout = 0.1".
  std::vector<std::string> left_out = {};
};

/// Exports a model to Hugging Face form. `base` is the config.json of the folder from which the
/// model was loaded, or empty. Keys of `base` that have no corresponding Weft field are kept, and
/// the text of `base` is kept unchanged if no value differs. If `base` is empty, the model type is
/// the first one that can represent the model. Throws an ArgumentError that names the field, head
/// or tensor if no class supports it. Tables that a class has but never reads may be missing; zeros
/// are written for them.
ExportedModel export_model(const ModelToExport& model, const std::string& base = {});

/// Returns a config.json for a class with one of these suffixes. Throws the same exceptions as
/// export_model() for configs.
std::string config_json(const FamilyConfig& family, const std::vector<std::string>& endings);

}  // namespace hf
}  // namespace weft
