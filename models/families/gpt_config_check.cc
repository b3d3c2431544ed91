// Validity of a GptConfig.
#include <fmt/format.h>

#include <cmath>

#include "weft/core/error.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/families/layer_pattern.h"
#include "weft/models/families/rotary_fields.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/fields/check.h"

namespace weft {
namespace {

template <class... Args>
void require(bool fits, fmt::format_string<Args...> text, Args&&... args) {
  if (!fits) throw ArgumentError(fmt::format(text, std::forward<Args>(args)...));
}

void check_sizes(const GptConfig& c) {
  check::at_least("vocab", c.vocab, 1);
  check::at_least("layers", c.layers, 1);
  check::at_least("heads", c.heads, 1);
  check::at_least("width", c.width, 1);
  check::at_least("context", c.context, 1);
  check::at_most({{"vocab", c.vocab, size_limits::kVocab},
                  {"layers", c.layers, size_limits::kLayers},
                  {"heads", c.heads, size_limits::kHeads},
                  {"kv_heads", c.kv_heads, size_limits::kHeads},
                  {"head_dim", c.head_dim, size_limits::kWidth},
                  {"width", c.width, size_limits::kWidth},
                  {"embedding_width", c.embedding_width, size_limits::kWidth},
                  {"inner", c.inner, size_limits::kInner},
                  {"context", c.context, size_limits::kPositions},
                  {"position_offset", c.position_offset, size_limits::kPositions},
                  {"window", c.window, size_limits::kPositions},
                  {"rotary_context", c.rotary_context, size_limits::kPositions},
                  {"query_growth_context", c.query_growth_context, size_limits::kPositions},
                  {"query_growth_offset", c.query_growth_offset, size_limits::kPositions},
                  {"kv_rank", c.kv_rank, size_limits::kWidth},
                  {"query_rank", c.query_rank, size_limits::kWidth},
                  {"latent_rotary", c.latent_rotary, size_limits::kWidth},
                  {"value_dim", c.value_dim, size_limits::kWidth},
                  {"experts", c.experts, size_limits::kExperts},
                  {"expert_inner", c.expert_inner, size_limits::kInner},
                  {"shared_inner", c.shared_inner, size_limits::kInner}});
  require(c.inner >= 0, "inner must be 0 (4 * width) or more, not {}", c.inner);
  require(c.head_dim >= 0, "head_dim must be 0 (width / heads) or more, not {}", c.head_dim);
  require(c.head_dim != 0 || c.width % c.heads == 0,
          "width {} is not a multiple of heads {}: all heads must have the same size", c.width,
          c.heads);
  require(c.kv_heads >= 0 && c.heads % c.key_heads() == 0, "kv_heads {} must divide heads {}",
          c.kv_heads, c.heads);
  for (const auto& [name, size] : {std::pair{"embedding_width", c.embedding_width},
                                   {"position_offset", c.position_offset},
                                   {"kv_rank", c.kv_rank},
                                   {"query_rank", c.query_rank},
                                   {"latent_rotary", c.latent_rotary},
                                   {"value_dim", c.value_dim},
                                   {"query_growth_offset", c.query_growth_offset},
                                   {"experts", c.experts},
                                   {"expert_inner", c.expert_inner},
                                   {"shared_inner", c.shared_inner}}) {
    check::at_least(name, size, 0);
  }
}

void check_norms(const GptConfig& c) {
  check::positive("layer_norm_eps", c.layer_norm_eps);
  check::needs(c.norm == GptNorm::layer_norm, "layer norms: RMSNorm has no biases",
               {{"norm_bias", c.norm_bias}});
  check::needs(c.norm_weights, "norm_weights",
               {{"norm_bias", c.norm_bias}, {"norm_offset", c.norm_offset}});
  check::needs(c.qk_norm, "qk_norm", {{"qk_norm_form", c.qk_norm_form != GptQkNorm::head}});
}

void check_attention(const GptConfig& c) {
  require(c.window >= 0, "window must not be negative, but is {}", c.window);
  check::needs(c.window > 0, "a window",
               {{"window_layers", !c.window_layers.empty()}, {"window_chunks", c.window_chunks}});
  check_pattern("window_layers", c.window_layers, c.layers);
  check::not_negative("attention_scale", c.attention_scale);
  check::not_negative("attention_soft_cap", c.attention_soft_cap);
  check::not_negative("clip_qkv", c.clip_qkv);
  check::not_negative("query_growth", c.query_growth);
  check::needs(c.query_growth > 0, "query_growth",
               {{"query_growth_layers", !c.query_growth_layers.empty()}});
  check_pattern("query_growth_layers", c.query_growth_layers, c.layers);
  check::at_least("query_growth_context", c.query_growth_context, 1);
  require(c.projection != QkvProjection::fused_by_quarter ||
              (c.heads % 4 == 0 && c.key_heads() == c.heads),
          "projection fused_by_quarter needs kv_heads = heads, a multiple of 4, not heads "
          "{} and kv_heads {}",
          c.heads, c.key_heads());
}

void check_latent_attention(const GptConfig& c) {
  check::needs(c.kv_rank > 0, "a kv_rank (latent attention)",
               {{"query_rank", c.query_rank != 0},
                {"latent_rotary", c.latent_rotary != 0},
                {"value_dim", c.value_dim != 0},
                {"latent_norm_eps", c.latent_norm_eps != 0}});
  check::not_negative("latent_norm_eps", c.latent_norm_eps);
  if (c.kv_rank == 0) return;
  require(c.latent_rotary < c.head_size(),
          "latent_rotary {} must be smaller than the head size {}, which includes it",
          c.latent_rotary, c.head_size());
  require(c.key_heads() == c.heads, "latent attention needs kv_heads equal to heads {}, not {}",
          c.heads, c.key_heads());
  require((c.positions == GptPositions::rotary) == (c.latent_rotary > 0),
          "latent attention needs a latent_rotary above 0 if and only if positions are rotary");
  require(c.projection == QkvProjection::separate,
          "latent attention needs projection separate, not {}", choice_name(c.projection));
  const auto exclude = [](std::string_view name, bool is_set) {
    require(!is_set, "latent attention cannot be combined with {}", name);
  };
  exclude("qk_norm", c.qk_norm);
  exclude("clip_qkv", c.clip_qkv != 0);
  exclude("qkv_bias", c.qkv_bias);
  exclude("sinks", c.sinks);
  exclude("rotary_share", c.rotary_share != 1);
}

void check_positions(const GptConfig& c) {
  check::needs(
      c.positions == GptPositions::learned, "learned positions",
      {{"position_offset", c.position_offset != 0}, {"masked_positions", c.masked_positions}});
  require(
      c.causal || c.positions != GptPositions::linear_bias,
      "positions linear_bias needs causal attention: their scores decrease with the distance of "
      "earlier tokens");
  check::positive("linear_bias_max", c.linear_bias_max);
  check::positive("linear_bias_scale", c.linear_bias_scale);
  const bool rotary = c.positions == GptPositions::rotary;
  check::not_negative("rotary_window_base", c.rotary_window_base);
  check::needs(rotary, "rotary positions",
               {{"rotary_adjacent", c.rotary_adjacent},
                {"rotary_layers", !c.rotary_layers.empty()},
                {"rotary_window_base", c.rotary_window_base != 0},
                {"qk_norm_form unweighted", c.qk_norm_form == GptQkNorm::unweighted}});
  check::needs(c.window > 0, "a window", {{"rotary_window_base", c.rotary_window_base != 0}});
  check_pattern("rotary_layers", c.rotary_layers, c.layers);
  if (rotary) {
    require(c.rotary_share > 0 && c.rotary_share <= 1, "rotary_share must be in (0, 1], not {}",
            c.rotary_share);
    check::positive("rotary_base", c.rotary_base);
    if (c.kv_rank > 0) {
      require(c.latent_rotary % 2 == 0, "latent_rotary must be even, not {}", c.latent_rotary);
    } else {
      require(c.rotary_size() >= 2 && c.rotary_size() % 2 == 0,
              "rotary_share {} of head size {} is {} features: the number must be even and at "
              "least 2",
              c.rotary_share, c.head_size(), c.rotary_size());
    }
  }
  check::rotary_scaling(c.scaling(), choice_name(c.positions), c.rotary_base, c.rotary_size());
}

void check_experts(const GptConfig& c) {
  check::needs(c.experts > 0, "experts",
               {{"expert_layers", !c.expert_layers.empty()},
                {"expert_inner", c.expert_inner != 0},
                {"shared_inner", c.shared_inner != 0},
                {"router_scores", c.router_scores != RouterScores::softmax},
                {"expert_input_weights", c.expert_input_weights},
                {"router_groups", c.router_groups != 1},
                {"router_correction", c.router_correction},
                {"router_bias", c.router_bias},
                {"expert_bias", c.expert_bias},
                {"expert_limit", c.expert_limit != 0},
                {"balancing_weight", c.balancing_weight != 0},
                {"router_z_weight", c.router_z_weight != 0}});
  check::needs(c.shared_inner > 0, "shared_inner", {{"shared_gate", c.shared_gate}});
  check::needs(c.gated, "gated",
               {{"fused_gate", c.fused_gate}, {"expert_limit", c.expert_limit != 0}});
  check::needs(c.router_correction, "router_correction",
               {{"correction_speed", c.correction_speed != 0}});
  check::not_negative("expert_limit", c.expert_limit);
  check::not_negative("balancing_weight", c.balancing_weight);
  check::not_negative("router_z_weight", c.router_z_weight);
  check::not_negative("correction_speed", c.correction_speed);
  check::positive("expert_scale", c.expert_scale);
  check_pattern("expert_layers", c.expert_layers, c.layers);
  if (c.experts == 0) return;
  const std::int64_t groups = c.router_groups, chosen = c.router_groups_per_token;
  require(groups >= 1 && c.experts % groups == 0, "router_groups {} must divide experts {}", groups,
          c.experts);
  require(chosen >= 1 && chosen <= groups,
          "router_groups_per_token must be in [1, router_groups = {}], not {}", groups, chosen);
  const std::int64_t size = c.experts / groups, candidates = size * chosen;
  require(c.experts_per_token >= 1 && c.experts_per_token <= candidates,
          "experts_per_token must be in [1, {}], the number of experts{}, not {}", candidates,
          groups == 1 ? "" : " in the groups of a token", c.experts_per_token);
  require(c.router_group_score == RouterGroupScore::best || size >= 2,
          "router_group_score best_two needs groups of at least 2 experts, not {}", size);
}

}  // namespace

void GptConfig::check() const {
  check_sizes(*this);
  check_latent_attention(*this);
  check_positions(*this);
  check_norms(*this);
  check_attention(*this);
  check_experts(*this);
  require(padding_id >= -1 && padding_id < vocab,
          "padding_id {} is outside the vocabulary of {} ids", padding_id, vocab);
  check::positive("embedding_multiplier", embedding_multiplier);
  check::positive("residual_multiplier", residual_multiplier);
  check::positive("logit_multiplier", logit_multiplier);
  check::not_negative("logit_soft_cap", logit_soft_cap);
  check::rate("embedding_dropout", embedding_dropout);
  check::rate("attention_dropout", attention_dropout);
  check::rate("residual_dropout", residual_dropout);
  check::not_negative("initializer_range", initializer_range);
}

}  // namespace weft
