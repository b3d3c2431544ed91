// EncoderConfig: sizes and options of a bidirectional encoder of the BERT family.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/models/fields/field_list.h"
#include "weft/models/layers/activation.h"
#include "weft/models/layers/attention/positions.h"

namespace WEFT_API weft {

/// How an encoder represents token positions.
enum class EncoderPositions : std::uint8_t {
  absolute,            // learned embeddings added to the token embeddings (BERT)
  relative_key,        // scores add query . E[distance] (Shaw et al. 2018)
  relative_key_query,  // scores also add key . E[distance] (Huang et al. 2020)
  disentangled,        // separate content and distance terms in the scores (DeBERTa)
  none,                // no positions: only a convolution is sensitive to the order
  rotary,              // queries and keys rotated by the position (RoPE, Su et al. 2021)
  /// Learned positions added to the embeddings, and one learned bias per head and distance bucket
  /// added to the scores of all layers (MPNet, Song et al. 2020; buckets of T5).
  relative_bias,
};
/// The names equal the enumerators.
ChoiceNames choice_names(EncoderPositions);

/// Where embeddings are projected to the width of the layers, if the widths differ.
enum class EmbeddingProjection : std::uint8_t {
  none,
  after_norm,   // with bias, after the norm of the embeddings (ALBERT, ELECTRA)
  before_norm,  // without bias, before that norm (DeBERTa)
};
/// The names are "none", "after_norm" and "before_norm".
ChoiceNames choice_names(EmbeddingProjection);

/// How text classifiers pool the tokens of a text.
enum class HeadPooling : std::uint8_t {
  first,  // the first token, followed by the hidden layer of the head (BERT)
  mean,   // the mean of all tokens, followed by the hidden layer
  late,   // the mean of the outputs of the hidden layer for all tokens (EuroBERT)
};
/// The names equal the enumerators.
ChoiceNames choice_names(HeadPooling);

/// Sizes and options of an encoder. The defaults are those of BERT-base (Devlin et al. 2019).
///
/// `window_layers` is a pattern: a string of 0 and 1 that is repeated over the layers, so that
/// "011" selects the second and third of three layers. An empty pattern selects all layers.
struct EncoderConfig {
  std::int64_t vocab = 30522;
  std::int64_t context = 512;    // number of positions
  std::int64_t token_types = 2;  // 0 = no embedding of token types
  std::int64_t task_types = 0;   // rows of a table of task types (ERNIE); 0 = none
  /// The embedding of this id receives no gradient from look-ups; -1 = no padding id.
  std::int64_t padding_id = 0;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t kv_heads = 0;   // heads of keys and values, must divide heads; 0 means heads
  std::int64_t head_size = 0;  // 0 means width / heads
  std::int64_t width = 768;
  std::int64_t inner = 3072;         // width of the feed-forward block
  std::int64_t embedding_width = 0;  // 0 means width
  EmbeddingProjection embedding_projection = EmbeddingProjection::none;
  Activation activation = Activation::gelu_erf;
  bool gated = false;          // down(activation(gate(x)) * up(x)): GeGLU with gelu
  bool fused_gate = false;     // one matrix feed_forward.gate_up: all gates, then all ups
  bool attention_bias = true;  // biases of the projections of attention
  bool mlp_bias = true;        // biases of the feed-forward block
  bool up_bias = true;         // false: only its last matrix has a bias (GTE)
  double layer_norm_eps = 1e-12;
  bool rms_norm = false;  // RMSNorm instead of LayerNorm
  bool norm_bias = true;  // biases of layer norms; not of RMSNorm
  /// Normalise before attention and feed-forward (pre-norm, Xiong et al. 2020), but neither after
  /// the embeddings nor at the end, so that hidden states keep their magnitude. The next three
  /// fields need norm_first.
  bool norm_first = false;
  bool embedding_norm = false;       // also normalise the embeddings
  bool first_attention_norm = true;  // false: layer 0 has no attention_norm (ModernBERT)
  bool final_norm = false;           // also normalise the last hidden states

  EncoderPositions positions = EncoderPositions::absolute;
  /// Tokens other than padding_id have the positions padding_id + 1, padding_id + 2, ...; padding
  /// has position padding_id (RoBERTa). By default, positions count from 0 over all tokens.
  bool positions_skip_padding = false;
  bool trainable_positions = true;  // false: keep the initial or loaded table

  double rotary_base = 10000;
  /// Base in the layers with the window, which then do not scale their frequencies (ModernBERT); 0
  /// = as in the other layers.
  double rotary_window_base = 0;
  /// Fraction of a head's features that are rotated; their number is rounded down.
  double rotary_share = 1;
  bool rotary_adjacent = false;  // rotate pairs (2j, 2j + 1) instead of (j, j + n/2) (RoFormer)
  bool rotary_values = false;    // also rotate the values (RoFormer)
  // The next fields correspond to the fields of RotaryScaling.
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

  std::int64_t relative_buckets = 32;        // relative_bias: number of distance buckets
  std::int64_t relative_max_distance = 128;  // all distances of at least this value share a bucket

  /// Tokens attend to the tokens at distances of at most window / 2 (rounded down) on both sides
  /// (ModernBERT's local_attention); 0 = no limit.
  std::int64_t window = 0;
  std::string window_layers = {};  // pattern: layers with the window
  bool fused_qkv = false;          // one matrix attention.qkv; needs rotary positions
  /// The window of each layer, in place of `window`: integers, 0 = no limit (Longformer).
  std::vector<double> layer_windows = {};
  /// Tokens selected by the input global_attention_mask attend to all tokens, and all tokens attend
  /// to them (Longformer); see longformer_attention.h.
  bool global_attention = false;
  /// The id that ends a question. In models that answer it, its tokens have global attention.
  std::int64_t separator_id = 2;
  bool causal = false;  // tokens do not attend to later tokens (CLIP's text encoder)

  /// Weight sharing between layers (ALBERT): the layers are assigned in order to `layer_groups`
  /// groups, and a group consists of `group_layers` layers that are applied in sequence. If 0,
  /// every layer has its own weights.
  std::int64_t layer_groups = 0;
  std::int64_t group_layers = 1;

  // For disentangled attention only; see DisentangledAttentionOptions.
  bool content_to_position = true;
  bool position_to_content = true;
  bool relative_attention = true;
  bool absolute_positions = false;  // also add learned positions to the embeddings
  bool fused_attention = false;     // version 1 of DeBERTa
  bool shared_projections = false;  // content and positions share projections
  std::int64_t max_relative = 512;
  std::int64_t position_buckets = 0;
  bool relative_norm = false;    // normalise the table of relative positions
  std::int64_t conv_kernel = 0;  // of the convolution parallel to the first layer; 0 = none
  std::int64_t conv_groups = 1;
  /// The kernel widths of the convolution's groups cycle through conv_least_kernel,
  /// conv_least_kernel + 2, ..., conv_kernel, so that some groups cover single words and others
  /// pairs or triples (Kim 2014). 0 = all groups are conv_kernel wide.
  std::int64_t conv_least_kernel = 0;
  Activation conv_activation = Activation::tanh;

  // Heads, see encoder_heads.h.
  bool tied_head = true;       // masked language models: the decoder is the token embedding table
  bool decoder_bias = true;    // masked language models: bias of the decoder
  bool head_transform = true;  // masked language models: hidden layer and norm before the decoder
  bool head_bias = true;       // biases of hidden layers in heads
  bool head_norm = false;      // text classifiers: norm after the hidden layer (ModernBERT)
  bool token_head = false;     // hidden layer and norm before the scores of tokens (ModernBERT)
  HeadPooling head_pooling = HeadPooling::first;
  /// Activation of the hidden layers in heads of masked language models and of scores of tokens;
  /// empty = `activation`.
  std::string head_activation = {};

  double hidden_dropout = 0;  // on embeddings and on the outputs of attention and feed-forward
  double attention_dropout = 0;
  // The next rates apply in addition to hidden_dropout (ModernBERT).
  double embedding_dropout = 0;      // on the embeddings
  double attention_out_dropout = 0;  // on the outputs of attention
  double inner_dropout = 0;          // inside the feed-forward blocks, before the last matrix
  double initializer_range = 0.02;

  /// ModernBERT-base (Warner et al. 2024): pre-norm with rotary positions, windows in two of three
  /// layers, gated feed-forward blocks and few biases.
  static EncoderConfig modernbert();

  std::int64_t embeddings() const { return embedding_width == 0 ? width : embedding_width; }
  std::int64_t head_width() const { return head_size == 0 ? width / heads : head_size; }
  std::int64_t key_heads() const { return kv_heads == 0 ? heads : kv_heads; }
  /// Returns true if the layer, counted from 0, has a window.
  bool has_window(std::int64_t layer) const { return window_at(layer) > 0; }
  /// The window of the layer; 0 = none.
  std::int64_t window_at(std::int64_t layer) const;
  /// Number of features per head that are rotated; 0 without rotary positions.
  std::int64_t rotary_size() const;
  Activation activation_in_heads() const;
  /// Maximum number of tokens in a row. If positions skip padding, no token uses positions 0 to
  /// padding_id.
  std::int64_t max_tokens() const {
    return context - (positions_skip_padding ? padding_id + 1 : 0);
  }
  /// Number of layers that have their own weights.
  std::int64_t distinct_layers() const {
    return layer_groups == 0 ? layers : layer_groups * group_layers;
  }
  /// Throws ArgumentError if a field is invalid; the message names the field, its value and the
  /// valid values.
  void check() const;

  /// All fields with their help texts.
  static const FieldList<EncoderConfig>& fields();
  /// Returns a JSON object with every field: {"vocab": ..., ..., "family": "encoder"}.
  std::string to_json() const;
  /// Throws FormatError if a field is missing, unknown or has the wrong type, and ArgumentError
  /// under the same conditions as check().
  static EncoderConfig from_json(std::string_view json);

  friend bool operator==(const EncoderConfig&, const EncoderConfig&) = default;
};

}  // namespace weft
