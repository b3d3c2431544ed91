// GptConfig: sizes and options of a decoder of the GPT family.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/models/fields/field_list.h"
#include "weft/models/layers/activation.h"
#include "weft/models/layers/attention/attention.h"

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
  pre_norm,   // h += attention(norm(h)); h += feed_forward(norm(h)); final norm (GPT-2)
  post_norm,  // h = norm(h + attention(h)); h = norm(h + feed_forward(h)) (GPT-1)
  parallel,   // h += attention(norm(h)) + feed_forward(norm'(h)); final norm (GPT-NeoX)
};
/// The names are "learned", "sinusoidal", "rotary", "linear_bias" and "none"; "layer_norm" and
/// "rms_norm"; "pre_norm", "post_norm" and "parallel".
ChoiceNames choice_names(GptPositions);
ChoiceNames choice_names(GptNorm);
ChoiceNames choice_names(GptResidual);

/// Sizes and options of a decoder. The defaults are GPT-2's (Radford et al. 2019).
struct GptConfig {
  std::int64_t vocab = 50257;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t kv_heads = 0;  // heads of keys and values, must divide heads; 0 means heads
  std::int64_t head_dim = 0;  // features per head; 0 means width / heads
  /// Width of embeddings and hidden states; a multiple of heads if head_dim is 0.
  std::int64_t width = 768;
  std::int64_t context = 1024;  // tokens: learned positions, and the default decoding capacity
  std::int64_t inner = 0;       // width of the feed-forward block; 0 means 4 * width
  Activation activation = Activation::gelu_tanh;
  bool gated = false;           // down(activation(gate(x)) * up(x)): SwiGLU with silu
  bool bias = true;             // biases of linear layers and norms
  bool attention_bias = false;  // biases in attention even if bias is false
  bool mlp_bias = false;        // biases in the feed-forward block even if bias is false
  bool tied_head = true;        // the output projection is the token embedding
  GptNorm norm = GptNorm::layer_norm;
  double layer_norm_eps = 1e-5;  // for both types of norms
  GptResidual residual = GptResidual::pre_norm;
  GptPositions positions = GptPositions::learned;
  double rotary_base = 10000;
  /// Fraction of a head's features that are rotated; their number is rounded down.
  double rotary_share = 1;
  // The next five fields correspond to the fields of RotaryScaling.
  RotaryScalingKind rotary_scaling = RotaryScalingKind::none;
  double rotary_factor = 1;
  double rotary_low_factor = 1;
  double rotary_high_factor = 4;
  std::int64_t rotary_context = 0;
  QkvProjection projection = QkvProjection::fused;
  /// Norms of the queries and keys of each head before the rotation: attn.{query_norm,key_norm}.
  bool qk_norm = false;
  bool transposed = true;       // matrices of blocks are [in, out], as in GPT-2's files
  std::int64_t window = 0;      // a token attends to itself and the window - 1 before it; 0 = all
  bool scale_attention = true;  // divide scores by sqrt(head size)
  bool scale_attention_by_inverse_layer = false;  // also divide scores of layer i by i + 1
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
  /// Number of features per head that are rotated; 0 without rotary positions.
  std::int64_t rotary_size() const {
    return positions == GptPositions::rotary
               ? static_cast<std::int64_t>(static_cast<double>(head_size()) * rotary_share)
               : 0;
  }
  /// Number of trainable parameters of a language model (GPT-2 small: 124439808).
  std::int64_t parameter_count() const;
  /// Throws ArgumentError if a field is invalid; the message names the field, its value and the
  /// valid values.
  void check() const;

  RotaryScaling scaling() const {
    return {rotary_scaling, rotary_factor, rotary_low_factor, rotary_high_factor, rotary_context};
  }

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
