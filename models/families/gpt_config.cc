#include "weft/models/families/gpt_config.h"

#include "weft/models/families/layer_pattern.h"
#include "weft/models/families/rotary_fields.h"

namespace weft {
namespace {

constexpr std::string_view kGptPositions[] = {"learned", "sinusoidal", "rotary", "linear_bias",
                                              "none"};
constexpr std::string_view kGptNorms[] = {"layer_norm", "rms_norm"};
constexpr std::string_view kResiduals[] = {"pre_norm",          "post_norm", "parallel",
                                           "parallel_one_norm", "sandwich",  "inner_post_norm"};

constexpr std::string_view kQkNorms[] = {"head", "each_head", "all_heads", "unweighted"};
constexpr std::string_view kRouterScores[] = {"softmax", "sigmoid"};
constexpr std::string_view kGroupScores[] = {"best", "best_two"};

}  // namespace

ChoiceNames choice_names(GptPositions) { return {"positions", kGptPositions}; }
ChoiceNames choice_names(GptNorm) { return {"norm", kGptNorms}; }
ChoiceNames choice_names(GptResidual) { return {"residual", kResiduals}; }
ChoiceNames choice_names(GptQkNorm) { return {"qk_norm_form", kQkNorms}; }
ChoiceNames choice_names(RouterScores) { return {"router_scores", kRouterScores}; }
ChoiceNames choice_names(RouterGroupScore) { return {"router_group_score", kGroupScores}; }

GptConfig GptConfig::llama() {
  GptConfig config;
  config.vocab = 32000;
  config.activation = Activation::silu;
  config.gated = true;
  config.bias = false;
  config.tied_head = false;
  config.norm = GptNorm::rms_norm;
  config.positions = GptPositions::rotary;
  config.projection = QkvProjection::separate;
  config.transposed = false;
  return config;
}

bool GptConfig::has_window(std::int64_t layer) const {
  return window > 0 && layer_selected(window_layers, layer);
}
bool GptConfig::has_rotary(std::int64_t layer) const {
  return positions == GptPositions::rotary && layer_selected(rotary_layers, layer);
}
bool GptConfig::has_query_growth(std::int64_t layer) const {
  return query_growth != 0 && layer_selected(query_growth_layers, layer);
}
bool GptConfig::has_experts(std::int64_t layer) const {
  return experts > 0 && layer_selected(expert_layers, layer);
}

std::int64_t GptConfig::rotary_size() const {
  if (positions != GptPositions::rotary) return 0;
  if (kv_rank > 0) return latent_rotary;
  return static_cast<std::int64_t>(static_cast<double>(head_size()) * rotary_share);
}

RotaryScaling GptConfig::scaling() const { return weft::rotary_scaling(*this); }

static FieldList<GptConfig> make_gpt_fields() {
  auto list =
      FieldList<GptConfig>("the model config", "gpt")
          .add("vocab", &GptConfig::vocab, "vocabulary size")
          .add("layers", &GptConfig::layers, "number of blocks")
          .add("heads", &GptConfig::heads, "attention heads; must divide width if head-dim is 0")
          .added("kv_heads", &GptConfig::kv_heads,
                 "number of key/value heads; must divide heads; 0 = same as heads")
          .added("head_dim", &GptConfig::head_dim, "features per head; 0 = width / heads")
          .add("width", &GptConfig::width, "width of hidden states")
          .add("context", &GptConfig::context, "context length in tokens")
          .add("inner", &GptConfig::inner, "width of the feed-forward block; 0 = 4 * width")
          .add("activation", &GptConfig::activation, "activation of the feed-forward block")
          .added("gated", &GptConfig::gated, "use a gated feed-forward block (SwiGLU with silu)")
          .added("fused_gate", &GptConfig::fused_gate,
                 "keep the gate and up matrices of the feed-forward block in one matrix")
          .section("biases")
          .add("bias", &GptConfig::bias, "biases in linear layers and norms")
          .added("attention_bias", &GptConfig::attention_bias,
                 "biases in attention even without --bias")
          .added("qkv_bias", &GptConfig::qkv_bias,
                 "biases of queries, keys and values even without --bias")
          .added("attention_out_bias", &GptConfig::attention_out_bias,
                 "biases of attention's output projection even without --bias")
          .added("mlp_bias", &GptConfig::mlp_bias,
                 "biases in the feed-forward block even without --bias")
          .added("norm_bias", &GptConfig::norm_bias, "biases of layer norms even without --bias")
          .added("head_bias", &GptConfig::head_bias, "bias of the output projection")
          .section("embeddings and head")
          .add("tied_head", &GptConfig::tied_head,
               "use the token embedding as the output projection")
          .added("embedding_width", &GptConfig::embedding_width,
                 "width of the token table; 0 = width")
          .added("embedding_norm", &GptConfig::embedding_norm, "normalise the embeddings")
          .added("embedding_multiplier", &GptConfig::embedding_multiplier,
                 "factor of the token embeddings")
          .added("residual_multiplier", &GptConfig::residual_multiplier,
                 "factor of the outputs of attention and feed-forward")
          .added("logit_multiplier", &GptConfig::logit_multiplier, "factor of the logits")
          .added("logit_soft_cap", &GptConfig::logit_soft_cap,
                 "soft cap of the logits: cap * tanh(logits / cap); 0 = none")
          .section("norms")
          .added("norm", &GptConfig::norm, "type of the norms")
          .add("layer_norm_eps", &GptConfig::layer_norm_eps, "epsilon of the norms")
          .added("norm_offset", &GptConfig::norm_offset, "store the weights of norms minus 1")
          .added("norm_weights", &GptConfig::norm_weights, "weights and biases of the norms")
          .added("residual", &GptConfig::residual, "arrangement of norms and residual connections")
          .added("final_norm", &GptConfig::final_norm, "norm after the last block")
          .section("positions")
          .added("positions", &GptConfig::positions, "position encoding; linear_bias means ALiBi")
          .added("position_offset", &GptConfig::position_offset,
                 "first row of the learned positions that is used")
          .added("masked_positions", &GptConfig::masked_positions,
                 "learned positions count only the tokens of the attention mask")
          .added("linear_bias_max", &GptConfig::linear_bias_max,
                 "ALiBi: exponent of the last slope, 2^-max")
          .added("linear_bias_scale", &GptConfig::linear_bias_scale, "ALiBi: factor of the slopes")
          .added("rotary_base", &GptConfig::rotary_base, "base of the rotary position frequencies")
          .added("rotary_window_base", &GptConfig::rotary_window_base,
                 "base without scaling in layers with the window; 0 = as in the other layers")
          .added("rotary_share", &GptConfig::rotary_share,
                 "fraction of a head's features that are rotated")
          .added("rotary_adjacent", &GptConfig::rotary_adjacent,
                 "rotate pairs of adjacent features")
          .added("rotary_layers", &GptConfig::rotary_layers,
                 "pattern of 0 and 1: layers with rotary positions; empty = all");
  add_rotary_scaling_fields(list);
  list.section("attention")
      .added("projection", &GptConfig::projection, "how queries, keys and values are projected")
      .added("qk_norm", &GptConfig::qk_norm,
             "normalise the queries and keys, in the form --qk-norm-form")
      .added("qk_norm_form", &GptConfig::qk_norm_form,
             "which features of queries and keys are normalised together, with which weights")
      .added("qk_norm_bias", &GptConfig::qk_norm_bias,
             "biases in the layer norms of queries and keys")
      .added("transposed", &GptConfig::transposed, "store the matrices of the blocks as [in, out]")
      .added("causal", &GptConfig::causal,
             "a token attends to the tokens before it only; false = to all tokens, so that the "
             "model cannot generate text")
      .added("window", &GptConfig::window,
             "a token attends to itself and the window - 1 tokens before it; 0 = all")
      .added("window_layers", &GptConfig::window_layers,
             "pattern of 0 and 1: layers with the window; empty = all")
      .added("window_chunks", &GptConfig::window_chunks,
             "a token attends to its own chunk of window tokens")
      .add("scale_attention", &GptConfig::scale_attention, "divide scores by sqrt(head size)")
      .add("scale_attention_by_inverse_layer", &GptConfig::scale_attention_by_inverse_layer,
           "also divide scores of layer i by i + 1")
      .added("attention_scale", &GptConfig::attention_scale,
             "factor of the scores; 0 = as scale-attention specifies")
      .added("attention_soft_cap", &GptConfig::attention_soft_cap,
             "soft cap of the scores: cap * tanh(scores / cap); 0 = none")
      .added("clip_qkv", &GptConfig::clip_qkv,
             "clamp queries, keys and values to +-clip-qkv; 0 = none")
      .added("sinks", &GptConfig::sinks, "a learned attention sink per head")
      .added("query_growth", &GptConfig::query_growth,
             "growth of the queries with ln(1 + floor(position / query-growth-context))")
      .added("query_growth_context", &GptConfig::query_growth_context,
             "tokens after which the queries grow")
      .added("query_growth_offset", &GptConfig::query_growth_offset,
             "number added to the positions for the growth")
      .added("query_growth_layers", &GptConfig::query_growth_layers,
             "pattern of 0 and 1: layers with growing queries; empty = all")
      .section("latent attention")
      .added("kv_rank", &GptConfig::kv_rank,
             "latent attention: rank of keys and values; 0 = no latent attention")
      .added("query_rank", &GptConfig::query_rank,
             "latent attention: rank of queries; 0 = full rank")
      .added("latent_rotary", &GptConfig::latent_rotary,
             "latent attention: features per head with rotary positions")
      .added("value_dim", &GptConfig::value_dim,
             "latent attention: features per head of values; 0 = as queries")
      .added("latent_norm_eps", &GptConfig::latent_norm_eps,
             "latent attention: epsilon of its norms; 0 = epsilon of the norms")
      .section("mixture of experts")
      .added("experts", &GptConfig::experts,
             "number of experts per layer; 0 = no mixture of experts")
      .added("experts_per_token", &GptConfig::experts_per_token, "experts that process a token")
      .added("expert_layers", &GptConfig::expert_layers,
             "pattern of 0 and 1: layers with experts; empty = all")
      .added("expert_inner", &GptConfig::expert_inner,
             "width of an expert; 0 = width of the feed-forward block")
      .added("shared_inner", &GptConfig::shared_inner,
             "width of the expert that processes all tokens; 0 = none")
      .added("shared_gate", &GptConfig::shared_gate,
             "multiply the output of the shared expert by a learned gate")
      .added("router_scores", &GptConfig::router_scores, "scores of the experts")
      .added("normalize_experts", &GptConfig::normalize_experts,
             "divide the weights of the chosen experts by their sum")
      .added("expert_scale", &GptConfig::expert_scale,
             "factor of the weights of the chosen experts")
      .added("expert_input_weights", &GptConfig::expert_input_weights,
             "multiply the inputs of experts by the weights, not the outputs")
      .added("router_groups", &GptConfig::router_groups, "groups of experts")
      .added("router_groups_per_token", &GptConfig::router_groups_per_token,
             "groups from which the experts of a token are chosen")
      .added("router_group_score", &GptConfig::router_group_score,
             "score of a group: its best expert, or the sum of its best two")
      .added("router_correction", &GptConfig::router_correction,
             "biases that only affect the choice of experts")
      .added("router_bias", &GptConfig::router_bias, "bias of the router")
      .added("expert_bias", &GptConfig::expert_bias, "biases of the experts")
      .added("expert_limit", &GptConfig::expert_limit,
             "clamp gates and ups of experts, and add 1 to ups; 0 = neither")
      .added("experts_transposed", &GptConfig::experts_transposed,
             "store the matrices of the experts as [in, out]")
      .added("balancing_weight", &GptConfig::balancing_weight,
             "weight of the load-balancing loss in the training loss")
      .added("router_z_weight", &GptConfig::router_z_weight,
             "weight of the router z-loss in the training loss")
      .added("correction_speed", &GptConfig::correction_speed,
             "step of the correction biases towards equal loads per training step")
      .section("")
      .added("padding_id", &GptConfig::padding_id,
             "padding id; its embedding is not trained; -1 = none")
      .add("embedding_dropout", &GptConfig::embedding_dropout, "dropout on the embeddings")
      .add("attention_dropout", &GptConfig::attention_dropout,
           "dropout on the attention probabilities")
      .add("residual_dropout", &GptConfig::residual_dropout,
           "dropout on the outputs of attention and feed-forward")
      .add("initializer_range", &GptConfig::initializer_range,
           "standard deviation of the initial weight matrices");
  return list;
}

const FieldList<GptConfig>& GptConfig::fields() {
  static const FieldList<GptConfig> list = make_gpt_fields();
  return list;
}

std::string GptConfig::to_json() const { return fields().to_json(*this); }

GptConfig GptConfig::from_json(std::string_view text) { return fields().from_json(text); }

}  // namespace weft
