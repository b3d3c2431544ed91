// Builds the classes of vision transformers from their configs and names. Internal to hf.
#pragma once

#include <functional>
#include <string>

#include "weft/models/families/vit.h"
#include "weft/models/hf/request.h"

namespace weft::hf {

/// The names of a model type's tensors, and the differences between its classes and those of ViT.
struct VisionClasses {
  std::string base;  // prefix of the base model in other classes, without the dot: "vit"
  /// Names of the modules of the base model that are not in a layer: {"norm", "layernorm"}.
  ModuleNames modules;
  std::string layers;      // "encoder.layer"
  ModuleNames layer = {};  // names of the modules of a layer
  /// The base model has the output pooler_output: none, the class token of last_hidden_state,
  /// Vit::pool(), or a dense layer on the class token (ViT).
  enum class Pooler { none, class_token, pool, dense } pooler = Pooler::class_token;
  /// The last hidden state of the layers is last_hidden_state, after the final norm.
  bool ties_last_hidden = false;
};

/// Returns the names that ViT, MSN, MAE and BEiT have in common, for VisionClasses::modules and
/// VisionClasses::layer.
ModuleNames vit_module_names();
ModuleNames vit_layer_names();

/// A vision transformer that is being built.
class VisionTask {
 public:
  /// `masked` declares a mask token.
  VisionTask(Request& request, const VitConfig& config, const VisionClasses& classes,
             bool masked = false);

  /// Builds Model, ForImageClassification, or another class by calling `other` with the name of the
  /// class without its prefix. `other` returns false if the type has no such class.
  Model build(const std::function<bool(const std::string&)>& other = {});

  Request& request;
  const VitConfig config;
  const VisionClasses classes;
  const bool has_mask_token;
  const Scope root;
  const Vit net;
  Model model;
  Value images, mask, last_hidden_state;

  /// Applies the linear layer `name` to x.
  Value head(const std::string& name, std::int64_t outputs, Value x) const;

 private:
  Value pooled();
};

/// Adds "logits" of a linear layer "classifier" on `features` [batch, n] and, with labels, "loss".
void put_classifier(Request& request, Model& model, const Scope& root, Value features,
                    double initializer_range);

/// Adds the keys that all types have.
template <class Config>
void vision_keys(Config& config, VitConfig& c) {
  config.field("hidden_size", c.width)
      .field("num_hidden_layers", c.layers)
      .field("num_attention_heads", c.heads)
      .field("hidden_act", c.activation)
      .field("initializer_range", c.initializer_range)
      .field("layer_norm_eps", c.layer_norm_eps)
      .field("num_channels", c.channels)
      .size("image_size", c.image_height, c.image_width)
      .size("patch_size", c.patch_height, c.patch_width);
}
/// Adds the keys of the dropout rates, which DINOv3 does not have.
template <class Config>
void vision_dropout_keys(Config& config, VitConfig& c) {
  config.field("hidden_dropout_prob", c.dropout)
      .field("attention_probs_dropout_prob", c.attention_dropout);
}

}  // namespace weft::hf
