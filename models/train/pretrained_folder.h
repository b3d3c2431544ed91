// A folder of Hugging Face's library as something to start from. Internal to models/train.
#pragma once

#include <optional>
#include <string>

#include "weft/models/families/encoder_config.h"
#include "weft/models/families/vit_config.h"
#include "weft/serialization/checkpoint.h"

namespace weft {

struct PretrainedFolder {
  std::string model_type, architecture;  // "bert", "BertForMaskedLM"
  /// As hf::Model has them.
  std::optional<EncoderConfig> encoder_config;
  std::optional<VitConfig> vit_config;
  TensorMap parameters;  // and buffers, under Weft's names
};

/// Throws as hf::read_folder, hf::build_model and hf::load_weights do.
PretrainedFolder read_pretrained_folder(const std::string& path);

/// The parameters and buffers of `graph` that `store` has.
TensorMap weights_of(const Graph& graph, const VariableStore& store);

}  // namespace weft
