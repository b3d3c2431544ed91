// Masked autoencoders (ViTMAE).
#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/graph/functions.h"
#include "weft/models/families/masked_autoencoder.h"
#include "weft/models/hf/vision/vision_task.h"

namespace weft::hf {
namespace {

template <class Config>
void mae_keys(Config& config, VitConfig& c) {
  vision_keys(config, c);
  vision_dropout_keys(config, c);
  config.field("intermediate_size", c.inner)
      .field("qkv_bias", c.qkv_bias)
      .field("decoder_num_attention_heads", c.decoder_heads)
      .field("decoder_hidden_size", c.decoder_width)
      .field("decoder_num_hidden_layers", c.decoder_layers)
      .field("decoder_intermediate_size", c.decoder_inner)
      .field("mask_ratio", c.mask_ratio)
      .field("norm_pix_loss", c.normalise_pixel_loss);
}

/// Builds ViTMAEModel or ViTMAEForPreTraining.
class MaeTask {
 public:
  MaeTask(Request& request, const VitConfig& config)
      : request_(request), config_(config), root_(Scope(request.graph).evaluation()) {}

  Model build() {
    config_.check();
    const std::string task = request_.task();
    const bool pretrains = task == "ForPreTraining";
    if (!pretrains && task != "Model") request_.unsupported_architecture();
    model_.family = config_;
    model_.base_prefix = "vit.";
    model_.unused_buffers = {"decoder.*"};
    const std::string base = pretrains ? "vit." : "";
    for (const auto& [ours, theirs] : vit_module_names()) model_.names.add(ours, base + theirs);
    model_.names.add_layers(config_.layers, "layers", base + "encoder.layer", vit_layer_names());
    const Value images = request_.required("pixel_values", {"batch", "", "", ""});
    const std::int64_t patches = config_.rows() * config_.columns();
    const Value noise = pretrains ? request_.required("noise", {"batch", ""})
                                  : request_.input("noise", {"batch", ""});
    if (noise.defined() && noise.size(1) != Dim(patches))
      throw ShapeError(
          fmt::format("noise must be [batch, {}] (one number per patch), not [batch, {}]", patches,
                      noise.size(1).str()));
    const std::int64_t count = visible_count(patches, config_.mask_ratio);
    if (pretrains) {
      pretrain(images, noise, count);
    } else {
      const Vit net(root_, config_);
      if (!noise.defined()) {
        put(net(images));
      } else {
        const auto [kept, mask, restore] = visible_patches(noise, count);
        put(net.visible(images, kept));
        model_.outputs["mask"] = mask;
        model_.outputs["ids_restore"] = restore;
      }
    }
    return std::move(model_);
  }

 private:
  /// As in transformers, the last hidden state of the layers is after the final norm.
  void put(VitOutputs outputs) {
    model_.outputs["last_hidden_state"] = outputs.hidden.back() = outputs.last_hidden_state;
    put_hidden(model_, "hidden.", outputs.hidden);
  }

  void pretrain(Value images, Value noise, std::int64_t count) {
    if (config_.rows() * config_.patch_height != config_.image_height ||
        config_.columns() * config_.patch_width != config_.image_width)
      throw ArgumentError(fmt::format(
          "config.json: image_size {} x {} must be a multiple of the patch_size, {} x {}",
          config_.image_height, config_.image_width, config_.patch_height, config_.patch_width));
    for (const auto& [ours, theirs] : {std::pair{"decoder.embed", "decoder.decoder_embed"},
                                       {"decoder.positions", "decoder.decoder_pos_embed"},
                                       {"decoder.norm", "decoder.decoder_norm"},
                                       {"decoder.pixels", "decoder.decoder_pred"}})
      model_.names.add(ours, theirs);
    const MaskedAutoencoder net(root_, config_);
    model_.names.add_layers(config_.decoder_layers, "decoder.layers", "decoder.decoder_layers",
                            vit_layer_names());
    const MaskedAutoencoderOutputs outputs = net(images, noise, count);
    put(outputs.encoder);
    model_.outputs["logits"] = outputs.pixels;
    model_.outputs["mask"] = outputs.mask;
    model_.outputs["ids_restore"] = outputs.restore;
    model_.outputs["loss"] = masked_patch_loss(config_, images, outputs.pixels, outputs.mask);
  }

  Request& request_;
  VitConfig config_;
  Scope root_;
  Model model_;
};

}  // namespace

ModelTypes mae_model_types() {
  const auto build = [](Request& request) {
    VitConfig c{.positions = VitPositions::fixed};
    mae_keys(request.config, c);
    request.config.ignore_labels();
    return MaeTask(request, c).build();
  };
  const auto write = [](ConfigWriter& config, const FamilyConfig& family, const HeadFacts&) {
    auto c = std::get<VitConfig>(family);
    mae_keys(config, c);
  };
  return {{"vit_mae", "ViTMAE", build, write}};
}

}  // namespace weft::hf
