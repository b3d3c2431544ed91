#include "weft/models/tasks/common/unused_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "weft/core/error.h"

namespace weft {
namespace {

/// Fields that have an effect only under a condition.
struct Condition {
  std::vector<std::string_view> fields;
  bool holds;
  std::string_view text;  // "--positions rotary"
};

void check(const FieldTexts& given, std::initializer_list<Condition> conditions) {
  for (const Condition& condition : conditions) {
    for (const std::string_view field : condition.fields) {
      if (condition.holds || !given.contains(field)) continue;
      std::string option(field);
      std::replace(option.begin(), option.end(), '_', '-');
      throw ArgumentError(
          fmt::format("--{} has no effect without {}: leave it out", option, condition.text));
    }
  }
}

/// Checks the fields of rotary scaling, which several families have.
template <class Config>
void check_scaling(const Config& c, const FieldTexts& given) {
  using Scaling = RotaryScalingKind;
  const Scaling scaling = c.rotary_scaling;
  check(given, {{{"rotary_factor"}, scaling != Scaling::none, "--rotary-scaling"},
                {{"rotary_low_factor", "rotary_high_factor"},
                 scaling == Scaling::llama3,
                 "--rotary-scaling llama3"},
                {{"rotary_context"},
                 scaling != Scaling::none && scaling != Scaling::linear,
                 "--rotary-scaling dynamic, llama3, yarn or longrope"},
                {{"rotary_beta_fast", "rotary_beta_slow", "rotary_truncate"},
                 scaling == Scaling::yarn,
                 "--rotary-scaling yarn"}});
}

}  // namespace

void refuse_unused_fields(const GptConfig& c, const FieldTexts& given) {
  check_scaling(c, given);
  check(
      given,
      {{{"rotary_base", "rotary_share"}, c.positions == GptPositions::rotary, "--positions rotary"},
       {{"linear_bias_max", "linear_bias_scale"},
        c.positions == GptPositions::linear_bias,
        "--positions linear_bias"},
       {{"attention_bias", "qkv_bias", "attention_out_bias", "mlp_bias", "norm_bias"},
        !c.bias,
        "--no-bias"},
       {{"qk_norm_bias"}, c.qk_norm && c.norm == GptNorm::layer_norm, "--qk-norm"},
       {{"final_norm"}, c.residual != GptResidual::post_norm, "a --residual other than post_norm"},
       {{"query_growth_context", "query_growth_offset"}, c.query_growth > 0, "--query-growth"},
       {{"experts_per_token", "normalize_experts", "expert_scale", "router_groups_per_token",
         "router_group_score", "experts_transposed", "correction_speed"},
        c.experts > 0,
        "--experts"}});
}

void refuse_unused_fields(const EncoderConfig& c, const FieldTexts& given) {
  const bool disentangled = c.positions == EncoderPositions::disentangled;
  const bool rotary = c.positions == EncoderPositions::rotary;
  const bool learned =
      c.positions != EncoderPositions::none && !rotary && (!disentangled || c.absolute_positions);
  check_scaling(c, given);
  check(given, {{{"rotary_base", "rotary_share"}, rotary, "--positions rotary"},
                {{"relative_buckets", "relative_max_distance"},
                 c.positions == EncoderPositions::relative_bias,
                 "--positions relative_bias"},
                {{"norm_bias"}, !c.rms_norm, "layer norms (--no-rms-norm)"},
                {{"relative_attention", "absolute_positions", "fused_attention",
                  "content_to_position", "position_to_content", "shared_projections",
                  "max_relative", "position_buckets", "relative_norm"},
                 disentangled,
                 "--positions disentangled"},
                {{"content_to_position", "position_to_content", "shared_projections",
                  "max_relative", "position_buckets", "relative_norm"},
                 c.relative_attention,
                 "--relative-attention"},
                {{"positions_skip_padding", "trainable_positions"}, learned, "learned positions"},
                {{"group_layers"}, c.layer_groups > 0, "--layer-groups"},
                {{"embedding_projection"},
                 c.embedding_width > 0 && c.embedding_width != c.width,
                 "an --embedding-width that differs from --width"},
                {{"conv_groups", "conv_least_kernel", "conv_activation"},
                 c.conv_kernel > 0,
                 "--conv-kernel"}});
}

void refuse_unused_fields(const ImageTextConfig& c, const FieldTexts& given) {
  check(given, {{{"logit_bias"}, c.loss == ImageTextLoss::sigmoid, "--loss sigmoid"}});
  const auto check_tower = [&](const char* tower, std::string_view front, const auto& config) {
    FieldTexts own;
    for (const auto& [name, value] : given) {
      if (name.starts_with(front)) own[name.substr(front.size())] = value;
    }
    try {
      refuse_unused_fields(config, own);
    } catch (const ArgumentError& e) {
      // The message names the option without the prefix of the tower.
      throw ArgumentError(fmt::format("{} tower: {}", tower, e.what()));
    }
  };
  check_tower("text", "text_", c.text);
  check_tower("image", "vision_", c.image);
}

void refuse_unused_fields(const EncoderDecoderConfig& c, const FieldTexts& given) {
  check(given,
        {{{"position_offset"}, c.positions == Seq2SeqPositions::learned, "--positions learned"},
         {{"relative_buckets", "relative_max_distance"},
          c.positions == Seq2SeqPositions::relative_bias,
          "--positions relative_bias"},
         {{"rotary_base", "decoder_rotary_base"},
          c.positions == Seq2SeqPositions::rotary,
          "--positions rotary"},
         {{"attention_bias", "mlp_bias"}, !c.bias, "--no-bias"},
         {{"scale_tied_head"}, c.tied_head, "--tied-head"},
         {{"initializer_factor"}, c.initializer_range == 0, "--initializer-range 0"}});
}

void refuse_unused_fields(const VitConfig& c, const FieldTexts& given) {
  check(given, {{{"rotary_base", "position_shift", "position_jitter", "position_rescale"},
                 c.positions == VitPositions::rotary_2d,
                 "--positions rotary_2d"},
                {{"query_bias", "key_bias", "value_bias"}, c.qkv_bias, "--qkv-bias"},
                {{"layer_scale_init"}, c.layer_scale, "--layer-scale"},
                {{"drop_path_increases"}, c.drop_path > 0, "--drop-path"},
                {{"pooled_norm"}, !c.final_norm, "--final-norm false"}});
}

}  // namespace weft
