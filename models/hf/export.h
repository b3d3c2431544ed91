// Export of models to Hugging Face form: the inverse of build_model() and match_weights().
//
// config.json is written with the descriptions of keys that are also used to read it. To check the
// result, the class is built from the written config.json and compared with the model. Tensors get
// the names of that class.
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
  TensorMap weights;  // parameters and buffers as floats, by Weft's names
  /// Suffixes of the possible class names, best first: "ForMaskedLM".
  std::vector<std::string> endings;
  /// Properties of the head that no config states. The exported class must have the same ones.
  std::optional<MaskedLmOptions> masked_lm = {};
  std::optional<Activation> pooler = {};
  /// Names of the classes of a classifier; empty if the model is not a classifier.
  std::vector<std::string> labels = {};
  /// How a classifier interprets its labels ("regression"). If it is not set, the problem type of
  /// the original folder is kept.
  std::optional<std::string> problem_type = {};
  /// Prefixes of the names of tensors that were not trained. Missing ones are written as zeros.
  std::vector<std::string> untrained = {};
};

/// The config.json and the tensors of a folder.
struct ExportedModel {
  std::string type, architecture;  // "bert", "BertForMaskedLM"
  std::string config;              // the text of config.json
  TensorMap weights;               // by Hugging Face names, each tensor once
  /// Training settings that the model type has no key for: "residual_dropout = 0.1".
  std::vector<std::string> left_out = {};
};

/// Exports a model to Hugging Face form. `base` is the config.json of the folder that the model
/// came from, or empty. Keys of `base` that Weft has no field for are kept, and its text is kept
/// unchanged if no value differs. Without `base`, the model type is the first one that can
/// represent the model. Throws an ArgumentError that names the field, the head or the tensor that
/// no class supports. Tables that a class has but never reads may be missing; they are written as
/// zeros.
ExportedModel export_model(const ModelToExport& model, const std::string& base = {});

/// Returns a config.json for a class with one of these suffixes. Throws like export_model() for the
/// config.
std::string config_json(const FamilyConfig& family, const std::vector<std::string>& endings);

}  // namespace hf
}  // namespace weft
