// GptConfig: sizes and options of a decoder of the GPT family.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/fields/field_list.h"
#include "weft/models/layers/activation.h"
#include "weft/models/layers/attention/attention.h"
#include "weft/models/layers/experts/router.h"

namespace WEFT_API weft {

/// How a decoder represents token positions.
enum class GptPositions : std::uint8_t {
  learned,      // learned embeddings added to the token embeddings (GPT)
  sinusoidal,   // sines and cosines added to the embeddings (Vaswani et al. 2017)
  rotary,       // queries and keys rotated by the position (RoPE, Su et al. 2021)
  linear_bias,  // scores decrease with the distance (ALiBi, Press et al. 2022)
  none,         // no positions: only the causal mask depends on the order
};
/// Type of the norms.
enum class GptNorm : std::uint8_t { layer_norm, rms_norm };
/// Arrangement of norms and residual connections in a block.
enum class GptResidual : std::uint8_t {
  pre_norm,           // h += attention(norm(h)); h += feed_forward(norm(h)); final norm (GPT-2)
  post_norm,          // h = norm(h + attention(h)); h = norm(h + feed_forward(h)) (GPT-1)
  parallel,           // h += attention(norm(h)) + feed_forward(norm'(h)); final norm (GPT-NeoX)
  parallel_one_norm,  // h += attention(n) + feed_forward(n), n = norm(h); final norm (GPT-J)
  sandwich,           // h += norm(attention(norm(h))); feed_forward likewise; final norm (Gemma 2)
  inner_post_norm,    // h += norm(attention(h)); h += norm(feed_forward(h)); final norm (OLMo 2)
};
/// Form of the norms of queries and keys.
enum class GptQkNorm : std::uint8_t {
  head,       // each head, with weights [head_size] that all heads share (Qwen3)
  each_head,  // each head, with its own weights: [heads, head_size] (Cohere)
  all_heads,  // all features of all heads at once, weights [heads * head_size] (OLMo 2)
  /// RMSNorm of each head without weights, after the rotation and only in layers with rotary
  /// positions (Llama 4).
  unweighted,
};
/// The names equal the enumerators.
ChoiceNames choice_names(GptPositions);
ChoiceNames choice_names(GptNorm);
ChoiceNames choice_names(GptResidual);
ChoiceNames choice_names(GptQkNorm);
ChoiceNames choice_names(RouterScores);
ChoiceNames choice_names(RouterGroupScore);

/// Sizes and options of a decoder. The defaults are GPT-2's (Radford et al. 2019).
///
/// Fields of type "pattern" select layers: a string of 0 and 1 that is repeated over the layers, so
/// that "110" selects two of three layers. An empty pattern selects all layers.
struct GptConfig {
  std::int64_t vocab = 50257;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t kv_heads = 0;  // heads of keys and values, must divide heads; 0 means heads
  std::int64_t head_dim = 0;  // features per head; 0 means width / heads
  /// Width of hidden states; a multiple of heads if head_dim is 0.
  std::int64_t width = 768;
  std::int64_t context = 1024;  // tokens: learned positions, and the default decoding capacity
  std::int64_t inner = 0;       // width of the feed-forward block; 0 means 4 * width
  Activation activation = Activation::gelu_tanh;
  bool gated = false;       // down(activation(gate(x)) * up(x)): SwiGLU with silu
  bool fused_gate = false;  // one matrix mlp.gate_up: all gates, then all ups (Phi-3)

  // Biases. The fields after `bias` have an effect only if `bias` is false.
  bool bias = true;                 // of linear layers and norms
  bool attention_bias = false;      // in attention
  bool qkv_bias = false;            // of queries, keys and values (Qwen2)
  bool attention_out_bias = false;  // of the output projection of attention (GPT-Neo)
  bool mlp_bias = false;            // in the feed-forward block
  bool norm_bias = false;           // of layer norms
  bool head_bias = false;           // lm_head.bias (GPT-J, Phi); independent of `bias`

  // Embeddings and head
  bool tied_head = true;  // the output projection is the token embedding
  /// Width of the token table; 0 means width. If it differs from width, transformer.project_in and
  /// transformer.project_out map between the two (OPT-350m).
  std::int64_t embedding_width = 0;
  bool embedding_norm = false;      // norm of the embeddings: transformer.wte_norm (BLOOM)
  double embedding_multiplier = 1;  // factor of the token embeddings (Gemma: sqrt(width))
  double residual_multiplier = 1;   // factor of the outputs of attention and feed-forward (Granite)
  double logit_multiplier = 1;      // factor of the logits (Cohere)
  double logit_soft_cap = 0;        // logits are cap * tanh(logits / cap) (Gemma 2); 0 = none

  // Norms
  GptNorm norm = GptNorm::layer_norm;
  double layer_norm_eps = 1e-5;  // for both types of norms
  bool norm_offset = false;      // weights are stored minus 1: x * (1 + weight) (Gemma)
  bool norm_weights = true;      // false: norms without weights and biases (OLMo)
  GptResidual residual = GptResidual::pre_norm;
  bool final_norm = true;  // norm after the last block, except with post_norm

  // Positions
  GptPositions positions = GptPositions::learned;
  std::int64_t position_offset = 0;  // first row of the learned positions that is used (OPT)
  /// Without position_ids, learned positions count the tokens of the attention mask (OPT).
  bool masked_positions = false;
  double linear_bias_max = 8;    // ALiBi slopes 2^(-linear_bias_max i / n) (MPT)
  double linear_bias_scale = 1;  // factor of the slopes (Falcon)
  double rotary_base = 10000;
  /// Base in the layers with the window, which then do not scale their frequencies (Gemma 3); 0 =
  /// as in the other layers.
  double rotary_window_base = 0;
  /// Fraction of a head's features that are rotated; their number is rounded down.
  double rotary_share = 1;
  bool rotary_adjacent = false;    // rotate pairs (2j, 2j + 1) instead of (j, j + n/2) (GPT-J)
  std::string rotary_layers = {};  // pattern: layers with rotary positions (SmolLM3)
  // The other fields correspond to the fields of RotaryScaling.
  RotaryScalingKind rotary_scaling = RotaryScalingKind::none;
  double rotary_factor = 1;
  double rotary_low_factor = 1;
  double rotary_high_factor = 4;
  std::int64_t rotary_context = 0;
  double rotary_attention_factor = 0;
  double rotary_beta_fast = 32;
  double rotary_beta_slow = 1;
  bool rotary_truncate = true;
  double rotary_mscale = 0;
  double rotary_mscale_all = 0;
  std::vector<double> rotary_short_factors = {}, rotary_long_factors = {};

  // Attention
  /// false: a token attends to all tokens of its text and, with a window, to those less than
  /// `window` tokens before or after it (EmbeddingGemma). Such a model cannot generate text.
  bool causal = true;
  QkvProjection projection = QkvProjection::fused;
  /// Norms of the queries and keys, in general before the rotation: attn.{query_norm,key_norm}.
  bool qk_norm = false;
  GptQkNorm qk_norm_form = GptQkNorm::head;
  bool qk_norm_bias = true;  // false: no biases in them even if other norms have biases
  bool transposed = true;    // matrices of blocks are [in, out], as in GPT-2's files
  std::int64_t window = 0;   // a token attends to itself and the window - 1 before it; 0 = all
  std::string window_layers = {};  // pattern: layers with the window
  bool window_chunks = false;   // a token attends to its chunk of `window` tokens instead (Llama 4)
  bool scale_attention = true;  // divide scores by sqrt(head size)
  bool scale_attention_by_inverse_layer = false;  // also divide scores of layer i by i + 1
  double attention_scale = 0;     // factor of the scores (Gemma 2); 0 = by scale_attention
  double attention_soft_cap = 0;  // scores are cap * tanh(scores / cap) (Gemma 2); 0 = none
  double clip_qkv = 0;            // clamps queries, keys and values to +-clip_qkv (OLMo); 0 = none
  bool sinks = false;             // attention sinks attn.sinks [heads] (GPT-OSS)
  /// The queries are multiplied by 1 + query_growth * ln(1 + floor((position +
  /// query_growth_offset) / query_growth_context)) (Llama 4).
  double query_growth = 0;
  std::int64_t query_growth_context = 8192;
  std::int64_t query_growth_offset = 0;
  std::string query_growth_layers = {};  // pattern

  // Latent attention (DeepSeek-V2, 2024), if kv_rank > 0. head_dim includes latent_rotary.
  std::int64_t kv_rank = 0;        // rank of the joint compression of keys and values
  std::int64_t query_rank = 0;     // rank of the compression of queries; 0 = none
  std::int64_t latent_rotary = 0;  // features per head that are rotated
  std::int64_t value_dim = 0;      // features per head of values; 0 = head_dim
  double latent_norm_eps = 0;      // epsilon of the norms of latent vectors; 0 = layer_norm_eps

  // Mixture of experts, if experts > 0. The fields correspond to MixtureOfExpertsOptions.
  std::int64_t experts = 0;
  std::int64_t experts_per_token = 2;
  std::string expert_layers = {};  // pattern; the other layers have a feed-forward block
  std::int64_t expert_inner = 0;   // width of an expert; 0 means inner_width()
  std::int64_t shared_inner = 0;   // width of the shared expert; 0 = none
  bool shared_gate = false;        // sigmoid gate of the shared expert (Qwen2-MoE)
  RouterScores router_scores = RouterScores::softmax;
  bool normalize_experts = true;      // weights of the chosen experts sum to 1
  double expert_scale = 1;            // factor of these weights (DeepSeek)
  bool expert_input_weights = false;  // the weights multiply the inputs of experts (Llama 4)
  std::int64_t router_groups = 1;     // groups of experts
  std::int64_t router_groups_per_token = 1;
  RouterGroupScore router_group_score = RouterGroupScore::best;
  bool router_correction = false;  // correction biases mlp.router.correction (DeepSeek-V3)
  bool router_bias = false;
  bool expert_bias = false;
  double expert_limit = 0;         // limit of gates and ups in experts (GPT-OSS); 0 = none
  bool experts_transposed = true;  // stacked experts are [experts, in, out]
  double balancing_weight = 0;     // weight of the load-balancing loss in the training loss
  double router_z_weight = 0;      // weight of the router z-loss in the training loss
  double correction_speed = 0;     // step of the correction biases per training step

  // Training
  /// The embedding of this id receives no gradient from look-ups; -1 = no padding id.
  std::int64_t padding_id = -1;
  double embedding_dropout = 0;
  double attention_dropout = 0;  // on the attention probabilities
  double residual_dropout = 0;   // on the outputs of attention and feed-forward
  /// Standard deviation of the initial matrices. Projections into the residual stream use
  /// initializer_range / sqrt(2 * layers), as in the GPT-2 paper.
  double initializer_range = 0.02;

  /// LLaMA's options (Touvron et al. 2023): RMSNorm, RoPE, SwiGLU, no biases, an untied head.
  static GptConfig llama();

  std::int64_t inner_width() const { return inner == 0 ? 4 * width : inner; }
  std::int64_t head_size() const { return head_dim == 0 ? width / heads : head_dim; }
  std::int64_t key_heads() const { return kv_heads == 0 ? heads : kv_heads; }
  std::int64_t value_size() const { return value_dim == 0 ? head_size() : value_dim; }
  std::int64_t embeddings() const { return embedding_width == 0 ? width : embedding_width; }
  std::int64_t expert_width() const { return expert_inner == 0 ? inner_width() : expert_inner; }
  /// Returns true if the layer, counted from 0, has this mechanism.
  bool has_window(std::int64_t layer) const;
  bool has_rotary(std::int64_t layer) const;        ///< See has_window().
  bool has_query_growth(std::int64_t layer) const;  ///< See has_window().
  bool has_experts(std::int64_t layer) const;       ///< See has_window().
  /// Number of features per head that are rotated; 0 without rotary positions.
  std::int64_t rotary_size() const;
  /// Number of trainable parameters of a language model (GPT-2 small: 124439808).
  std::int64_t parameter_count() const;
  /// Throws ArgumentError if a field is invalid; the message names the field, its value and the
  /// valid values.
  void check() const;

  RotaryScaling scaling() const;

  /// All fields with their help texts.
  static const FieldList<GptConfig>& fields();
  /// Returns a JSON object with every field, as stored in checkpoints: {"vocab": ..., ...,
  /// "family": "gpt"}.
  std::string to_json() const;
  /// Throws FormatError if a field is missing, unknown or has the wrong type, and ArgumentError
  /// under the same conditions as check().
  static GptConfig from_json(std::string_view json);

  friend bool operator==(const GptConfig&, const GptConfig&) = default;
};

}  // namespace weft
