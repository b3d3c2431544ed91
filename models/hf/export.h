// Models as Hugging Face's library has them: the inverse of build_model() and match_weights().
//
// What is written is read again by the builders themselves: config.json by the same descriptions of
// keys, names of tensors by the maps of the class that the written config builds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/models/families/family_config.h"
#include "weft/models/hf/model.h"

namespace WEFT_API weft {
namespace hf {

/// A model that is to become one of the library's.
struct LibraryModel {
  FamilyConfig family;
  TensorMap weights;  // parameters and buffers as floats, by Weft's names
  /// What the names of classes end in that it may be one of, the best first: "ForMaskedLM".
  std::vector<std::string> endings;
  /// Of its head, where no config says it and the class must have the same.
  std::optional<MaskedLmOptions> masked_lm = {};
  std::optional<Activation> pooler = {};
  /// What the classes of a classifier are called; empty where it is none.
  std::vector<std::string> labels = {};
  /// How a classifier's labels are to be understood ("regression"); nothing: as the folder says
  /// that it came from.
  std::optional<std::string> problem_type = {};
  /// Beginnings of names of tensors that nothing learned: where they are missing they are zeros.
  std::vector<std::string> untrained = {};
};

/// A folder's config.json and tensors.
struct ExportedModel {
  std::string type, architecture;  // "bert", "BertForMaskedLM"
  std::string config;              // the text of config.json
  TensorMap weights;               // by the library's names, each tensor once
  /// What only training knows and the library has no key for: "residual_dropout = 0.1".
  std::vector<std::string> left_out = {};
};

/// The model as one of the library's. `base` is the config.json of the folder that it came from, or
/// empty: what it says and Weft has no field for stays, and so does its text where nothing else is
/// to be said; without it the model type is the first that can say the same. Throws ArgumentError
/// that names the field, the head or the tensor that no class has. Tables that a class
/// has and never reads may be missing: they are zeros.
ExportedModel export_model(const LibraryModel& model, const std::string& base = {});

/// A config.json of the class with such an ending; throws as export_model() for the config.
std::string config_json(const FamilyConfig& family, const std::vector<std::string>& endings);

}  // namespace hf
}  // namespace weft
