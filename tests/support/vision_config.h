// Tiny configs of Hugging Face vision models.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace weft::testing {

/// Returns the model types of vision transformers with an image classifier, and these classes.
inline const std::vector<std::pair<std::string, std::string>>& image_classes() {
  static const std::vector<std::pair<std::string, std::string>> classes = {
      {"vit", "ViTForImageClassification"},
      {"deit", "DeiTForImageClassification"},
      {"vit_msn", "ViTMSNForImageClassification"},
      {"dinov2", "Dinov2ForImageClassification"},
      {"dinov2_with_registers", "Dinov2WithRegistersForImageClassification"},
      {"beit", "BeitForImageClassification"},
      {"data2vec-vision", "Data2VecVisionForImageClassification"},
      {"swin", "SwinForImageClassification"}};
  return classes;
}

/// Returns the config.json of a vision model for grey images of 4 x 4 pixels, with 4 patches.
inline nlohmann::json vision_config(const std::string& type, const std::string& architecture) {
  nlohmann::json config = {{"model_type", type},   {"architectures", {architecture}},
                           {"image_size", {4, 4}}, {"patch_size", 2},
                           {"num_channels", 1},    {"initializer_range", 0.4}};
  if (type == "swin") {
    config.update({{"embed_dim", 8},
                   {"depths", {2, 1}},
                   {"num_heads", {2, 2}},
                   {"window_size", 2},
                   {"patch_size", 1},
                   {"encoder_stride", 2}});
    return config;
  }
  config.update({{"hidden_size", 16}, {"num_hidden_layers", 2}, {"num_attention_heads", 2}});
  if (type.starts_with("dinov2")) {
    config.update({{"mlp_ratio", 2}, {"layerscale_value", 0.7}});
  } else {
    config["intermediate_size"] = 32;
  }
  if (type == "vit" || type == "deit") config["encoder_stride"] = 2;
  if (type == "beit" || type == "data2vec-vision") config["use_relative_position_bias"] = true;
  if (type == "vit_mae") {
    config.update({{"decoder_hidden_size", 8},
                   {"decoder_num_hidden_layers", 1},
                   {"decoder_num_attention_heads", 2},
                   {"decoder_intermediate_size", 16}});
  }
  return config;
}

}  // namespace weft::testing
