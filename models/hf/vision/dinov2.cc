// DINOv2, DINOv2 with registers, and DINOv3.
#include <algorithm>
#include <cmath>

#include "weft/models/families/size_limits.h"
#include "weft/models/hf/vision/vision_task.h"

namespace weft::hf {
namespace {

/// Returns the width of the feed-forward blocks of DINOv2 for an mlp_ratio. The values may be those
/// of an invalid file: the result is then beyond the limits of VitConfig::check().
std::int64_t inner_width(const VitConfig& c, double ratio) {
  constexpr double kBeyond = 4.0 * size_limits::kInner;
  const auto inner = static_cast<std::int64_t>(
      std::clamp(static_cast<double>(c.width) * ratio, -kBeyond, kBeyond));
  if (!c.gated) return inner;
  const auto part = static_cast<std::int64_t>(static_cast<double>(inner) * 2 / 3);
  return (part + 7) / 8 * 8;
}

/// Returns an mlp_ratio with which inner_width() is c.inner: a whole number if there is one.
double mlp_ratio(const VitConfig& c) {
  for (int whole = 1; whole <= 16; ++whole) {
    if (inner_width(c, whole) == c.inner) return whole;
  }
  const double inner = static_cast<double>(c.inner) * (c.gated ? 1.5 : 1);
  const double ratio = inner / static_cast<double>(c.width);
  return inner_width(c, ratio) == c.inner ? ratio : (inner + 0.5) / static_cast<double>(c.width);
}

template <class Config>
void dinov2_keys(Config& config, VitConfig& c, double& ratio, bool registers) {
  vision_keys(config, c);
  vision_dropout_keys(config, c);
  config.field("qkv_bias", c.qkv_bias)
      .field("layerscale_value", c.layer_scale_init)
      .field("drop_path_rate", c.drop_path)
      .field("use_swiglu_ffn", c.gated)
      .field("mlp_ratio", ratio);
  if (registers) {
    config.field("num_register_tokens", c.registers);
  } else {
    config.field("use_mask_token", c.mask_token);
  }
}

/// Adds the layout of the mask token, which files store as [1, width].
void add_mask_token(VisionTask& task) {
  if (!task.config.mask_token) return;
  task.model.layouts.add(
      {.ours = "mask_token", .theirs = task.model.names.theirs("mask_token"), .squeezed = 1});
}

ModelType dinov2_type(const std::string& name, const std::string& prefix, bool registers) {
  const auto build = [=](Request& request) {
    VitConfig c{.layer_norm_eps = 1e-6, .pooling = VitPooling::class_and_mean};
    c.registers = registers ? 4 : 0;
    if (!registers) c.patch_height = c.patch_width = 14;
    c.mask_token = true;
    c.interpolation = registers ? VitInterpolation::antialias : VitInterpolation::bicubic;
    c.layer_scale = true;
    c.drop_path_increases = false;
    double ratio = 4;
    dinov2_keys(request.config, c, ratio, registers);
    c.inner = inner_width(c, ratio);
    c.fused_gate = c.gated;
    if (c.gated) c.activation = Activation::silu;
    request.config.ignore_labels().ignore(
        {"apply_layernorm", "out_features", "out_indices", "reshape_hidden_states", "stage_names"});
    ModuleNames layer = {{"attention.query", "attention.attention.query"},
                         {"attention.key", "attention.attention.key"},
                         {"attention.value", "attention.attention.value"},
                         {"attention.out", "attention.output.dense"},
                         {"attention_norm", "norm1"},
                         {"attention_scale", "layer_scale1.lambda1"},
                         {"feed_forward.up", "mlp.fc1"},
                         {"feed_forward.gate_up", "mlp.weights_in"},
                         {"feed_forward.down", c.gated ? "mlp.weights_out" : "mlp.fc2"},
                         {"feed_forward_norm", "norm2"},
                         {"feed_forward_scale", "layer_scale2.lambda1"}};
    ModuleNames modules = vit_module_names();
    modules.emplace_back("registers", "embeddings.register_tokens");
    VisionTask task(request, c,
                    {.base = name,
                     .modules = std::move(modules),
                     .layers = "encoder.layer",
                     .layer = std::move(layer)});
    add_mask_token(task);
    return task.build();
  };
  const auto write = [=](ConfigWriter& config, const FamilyConfig& family, const HeadFacts&) {
    auto c = std::get<VitConfig>(family);
    double ratio = mlp_ratio(c);
    dinov2_keys(config, c, ratio, registers);
  };
  return {name, prefix, build, write};
}

template <class Config>
void dinov3_keys(Config& config, VitConfig& c) {
  vision_keys(config, c);
  config.field("intermediate_size", c.inner)
      .field("attention_dropout", c.attention_dropout)
      .field("rope_theta", c.rotary_base)
      .field("query_bias", c.query_bias)
      .field("key_bias", c.key_bias)
      .field("value_bias", c.value_bias)
      .field("proj_bias", c.attention_out_bias)
      .field("mlp_bias", c.mlp_bias)
      .field("layerscale_value", c.layer_scale_init)
      .field("drop_path_rate", c.drop_path)
      .field("use_gated_mlp", c.gated)
      .field("num_register_tokens", c.registers)
      .optional_number("pos_embed_shift", c.position_shift)
      .optional_number("pos_embed_jitter", c.position_jitter)
      .optional_number("pos_embed_rescale", c.position_rescale);
}

ModelType dinov3_type() {
  const auto build = [](Request& request) {
    VitConfig c{.heads = 6,
                .width = 384,
                .inner = 1536,
                .layer_norm_eps = 1e-5,
                .positions = VitPositions::rotary_2d};
    c.mask_token = c.layer_scale = true;
    c.key_bias = c.drop_path_increases = false;
    c.position_rescale = 2;
    dinov3_keys(request.config, c);
    request.config.ignore_labels().ignore({"apply_layernorm", "out_features", "out_indices",
                                           "reshape_hidden_states", "return_class_token",
                                           "stage_names"});
    return VisionTask(request, c,
                      {.base = "",
                       .modules = {{"patches", "embeddings.patch_embeddings"},
                                   {"class_token", "embeddings.cls_token"},
                                   {"mask_token", "embeddings.mask_token"},
                                   {"registers", "embeddings.register_tokens"}},
                       .layers = "layer",
                       .layer = {{"attention.query", "attention.q_proj"},
                                 {"attention.key", "attention.k_proj"},
                                 {"attention.value", "attention.v_proj"},
                                 {"attention.out", "attention.o_proj"},
                                 {"attention_norm", "norm1"},
                                 {"attention_scale", "layer_scale1.lambda1"},
                                 {"feed_forward.gate", "mlp.gate_proj"},
                                 {"feed_forward.up", "mlp.up_proj"},
                                 {"feed_forward.down", "mlp.down_proj"},
                                 {"feed_forward_norm", "norm2"},
                                 {"feed_forward_scale", "layer_scale2.lambda1"}}})
        .build();
  };
  const auto write = [](ConfigWriter& config, const FamilyConfig& family, const HeadFacts&) {
    auto c = std::get<VitConfig>(family);
    dinov3_keys(config, c);
  };
  return {"dinov3_vit", "DINOv3ViT", build, write};
}

}  // namespace

ModelTypes dinov2_model_types() {
  return {dinov2_type("dinov2", "Dinov2", false),
          dinov2_type("dinov2_with_registers", "Dinov2WithRegisters", true), dinov3_type()};
}

}  // namespace weft::hf
