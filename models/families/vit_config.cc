#include "weft/models/families/vit_config.h"

#include <fmt/format.h>

#include <array>

#include "weft/core/error.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/fields/check.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, 5> kVitPositions = {"learned", "sinusoidal_2d", "rotary_2d",
                                                           "fixed", "none"};
constexpr std::array<std::string_view, 5> kPoolings = {"class_token", "mean", "patch_mean",
                                                       "class_and_mean", "attention"};
constexpr std::array<std::string_view, 3> kInterpolations = {"none", "bicubic", "antialias"};

}  // namespace

ChoiceNames choice_names(VitPositions) { return {"positions", kVitPositions}; }
ChoiceNames choice_names(VitPooling) { return {"pooling", kPoolings}; }
ChoiceNames choice_names(VitInterpolation) { return {"interpolation", kInterpolations}; }

void VitConfig::check() const {
  for (const auto& [name, value] :
       {std::pair<std::string_view, std::int64_t>{"image_height", image_height},
        {"image_width", image_width},
        {"patch_height", patch_height},
        {"patch_width", patch_width},
        {"channels", channels},
        {"layers", layers},
        {"heads", heads},
        {"width", width},
        {"inner", inner},
        {"decoder_layers", decoder_layers},
        {"decoder_heads", decoder_heads},
        {"decoder_width", decoder_width},
        {"decoder_inner", decoder_inner}}) {
    check::at_least(name, value, 1);
  }
  check::at_least("registers", registers, 0);
  check::at_most({{"image_height", image_height, size_limits::kPixels},
                  {"image_width", image_width, size_limits::kPixels},
                  {"channels", channels, size_limits::kPixels},
                  {"layers", layers, size_limits::kLayers},
                  {"heads", heads, size_limits::kHeads},
                  {"width", width, size_limits::kWidth},
                  {"inner", inner, size_limits::kInner},
                  {"registers", registers, size_limits::kWidth},
                  {"decoder_layers", decoder_layers, size_limits::kLayers},
                  {"decoder_heads", decoder_heads, size_limits::kHeads},
                  {"decoder_width", decoder_width, size_limits::kWidth},
                  {"decoder_inner", decoder_inner, size_limits::kInner}});
  if (image_height < patch_height || image_width < patch_width) {
    throw ArgumentError(fmt::format("an image of {} x {} is smaller than a patch of {} x {}",
                                    image_height, image_width, patch_height, patch_width));
  }
  if (width % heads != 0) {
    throw ArgumentError(fmt::format(
        "width {} is not a multiple of heads {}: all heads must have the same size", width, heads));
  }
  for (const VitPositions sines : {VitPositions::sinusoidal_2d, VitPositions::fixed}) {
    if (positions == sines && width % 4 != 0)
      throw ArgumentError(fmt::format("{} positions need a width that is a multiple of 4, not {}",
                                      choice_name(sines), width));
  }
  if (positions == VitPositions::rotary_2d && width / heads % 4 != 0)
    throw ArgumentError(fmt::format(
        "rotary_2d positions need a head size that is a multiple of 4, not width {} / heads {}",
        width, heads));
  if (distillation && pooling != VitPooling::class_token)
    throw ArgumentError("distillation needs a class token: pooling must be class_token");
  if ((relative_bias || shared_relative_bias) && (extra_tokens() != 1 || !has_class_token()))
    throw ArgumentError(
        "relative_bias and shared_relative_bias need a class token and no other token before the "
        "patches: set pooling to class_token or patch_mean, registers to 0 and distillation to "
        "false");
  // Relative biases need a table of patches x patches indices.
  if (relative_bias || shared_relative_bias)
    check::at_most({{"number of patches with relative biases", rows() * columns(), 1 << 13}});
  if (!final_norm && (pooling == VitPooling::class_and_mean || pooling == VitPooling::attention))
    throw ArgumentError(fmt::format("pooling {} needs final_norm", choice_name(pooling)));
  if (fused_gate && !gated) throw ArgumentError("fused_gate needs gated");
  check::not_negative("position_shift", position_shift);
  for (const auto& [name, factor] :
       {std::pair{"position_jitter", position_jitter}, {"position_rescale", position_rescale}}) {
    if (factor != 0 && !(factor >= 1))
      throw ArgumentError(fmt::format("{} must be 0 or at least 1, not {}", name, factor));
  }
  check::positive("rotary_base", rotary_base);
  check::rate("drop_path", drop_path);
  check::rate("mask_ratio", mask_ratio);
  check::rate("dropout", dropout);
  check::rate("attention_dropout", attention_dropout);
  check::positive("layer_norm_eps", layer_norm_eps);
  check::not_negative("initializer_range", initializer_range);
}

const FieldList<VitConfig>& VitConfig::fields() {
  static const auto list =
      FieldList<VitConfig>("the model config", "vit")
          .add("image_height", &VitConfig::image_height, "image height in pixels")
          .add("image_width", &VitConfig::image_width, "image width in pixels")
          .add("patch_height", &VitConfig::patch_height,
               "patch height in pixels; partial patches at the edge are ignored")
          .add("patch_width", &VitConfig::patch_width,
               "patch width in pixels; partial patches at the edge are ignored")
          .add("channels", &VitConfig::channels, "number of channels: 1 = grey, 3 = colour")
          .add("layers", &VitConfig::layers, "number of blocks")
          .add("heads", &VitConfig::heads, "attention heads; must divide width")
          .add("width", &VitConfig::width, "width of embeddings and hidden states")
          .add("inner", &VitConfig::inner, "width of the feed-forward block")
          .add("activation", &VitConfig::activation, "activation of the feed-forward block")
          .add("qkv_bias", &VitConfig::qkv_bias, "biases of queries, keys and values")
          .add("layer_norm_eps", &VitConfig::layer_norm_eps, "epsilon of the norms")
          .add("positions", &VitConfig::positions, "position encoding of the patches")
          .add("pooling", &VitConfig::pooling, "how tokens are pooled into one vector per image")
          .add("distillation", &VitConfig::distillation, "add a distillation token (DeiT)")
          .add("dropout", &VitConfig::dropout,
               "dropout on the embeddings and on the outputs of blocks")
          .add("attention_dropout", &VitConfig::attention_dropout,
               "dropout on the attention probabilities")
          .add("initializer_range", &VitConfig::initializer_range,
               "standard deviation of the initial weight matrices")
          .added("patch_bias", &VitConfig::patch_bias, "bias of the patch projection")
          .added("registers", &VitConfig::registers,
                 "learned tokens without positions before the patches")
          .added("mask_token", &VitConfig::mask_token,
                 "declare a token for masked patches in every model (DINOv2)")
          .added("interpolation", &VitConfig::interpolation,
                 "how positions are resized for images of another size within one model")
          .added("rotary_base", &VitConfig::rotary_base, "rotary_2d: base of the frequencies")
          .added("position_shift", &VitConfig::position_shift,
                 "rotary_2d: largest random shift of the coordinates in training")
          .added("position_jitter", &VitConfig::position_jitter,
                 "rotary_2d: largest random factor of each axis in training; 0 = none")
          .added("position_rescale", &VitConfig::position_rescale,
                 "rotary_2d: largest random factor of both axes in training; 0 = none")
          .added("relative_bias", &VitConfig::relative_bias,
                 "relative position biases of each layer (BEiT)")
          .added("shared_relative_bias", &VitConfig::shared_relative_bias,
                 "relative position biases that all layers share")
          .added("embedding_norm", &VitConfig::embedding_norm, "normalise the embeddings (CLIP)")
          .added("final_norm", &VitConfig::final_norm,
                 "normalise all tokens after the last layer, not only the pooled vector")
          .added("pooled_norm", &VitConfig::pooled_norm,
                 "without --final-norm: normalise the pooled vector")
          .added("query_bias", &VitConfig::query_bias, "biases of queries, with qkv_bias")
          .added("key_bias", &VitConfig::key_bias, "biases of keys, with qkv_bias")
          .added("value_bias", &VitConfig::value_bias, "biases of values, with qkv_bias")
          .added("attention_out_bias", &VitConfig::attention_out_bias,
                 "bias of the output projection of attention")
          .added("mlp_bias", &VitConfig::mlp_bias, "biases of the feed-forward block")
          .added("gated", &VitConfig::gated, "use a gated feed-forward block (SwiGLU with silu)")
          .added("fused_gate", &VitConfig::fused_gate,
                 "keep both inner matrices of the gated block in one")
          .added("layer_scale", &VitConfig::layer_scale,
                 "multiply the outputs of blocks by learned vectors (LayerScale)")
          .added("layer_scale_init", &VitConfig::layer_scale_init, "initial value of these vectors")
          .added("drop_path", &VitConfig::drop_path,
                 "stochastic depth: rate at which blocks are skipped in training")
          .added("drop_path_increases", &VitConfig::drop_path_increases,
                 "increase drop_path linearly from 0 in the first layer")
          .added("decoder_layers", &VitConfig::decoder_layers,
                 "masked autoencoder: blocks of the decoder")
          .added("decoder_heads", &VitConfig::decoder_heads,
                 "masked autoencoder: attention heads of the decoder")
          .added("decoder_width", &VitConfig::decoder_width,
                 "masked autoencoder: width of the decoder")
          .added("decoder_inner", &VitConfig::decoder_inner,
                 "masked autoencoder: width of the feed-forward blocks of the decoder")
          .added("mask_ratio", &VitConfig::mask_ratio,
                 "masked autoencoder: fraction of masked patches in a model folder")
          .added("normalise_pixel_loss", &VitConfig::normalise_pixel_loss,
                 "masked autoencoder: normalise the pixels of each patch for the loss");
  return list;
}

std::string VitConfig::to_json() const { return fields().to_json(*this); }

VitConfig VitConfig::from_json(std::string_view text) { return fields().from_json(text); }

}  // namespace weft
