// EncoderConfig: sizes and options of a bidirectional encoder of the BERT family.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/models/fields/field_list.h"
#include "weft/models/layers/activation.h"

namespace WEFT_API weft {

/// How an encoder represents token positions.
enum class EncoderPositions : std::uint8_t {
  absolute,            // learned embeddings added to the token embeddings (BERT)
  relative_key,        // scores add query . E[distance] (Shaw et al. 2018)
  relative_key_query,  // scores also add key . E[distance] (Huang et al. 2020)
  disentangled,        // separate content and distance terms in the scores (DeBERTa)
  none,                // no positions: only a convolution is sensitive to the order
};
/// The names are "absolute", "relative_key", "relative_key_query", "disentangled" and "none".
ChoiceNames choice_names(EncoderPositions);

/// Where embeddings are projected to the width of the layers, if the widths differ.
enum class EmbeddingProjection : std::uint8_t {
  none,
  after_norm,   // with bias, after the norm of the embeddings (ALBERT, ELECTRA)
  before_norm,  // without bias, before that norm (DeBERTa)
};
/// The names are "none", "after_norm" and "before_norm".
ChoiceNames choice_names(EmbeddingProjection);

/// Sizes and options of an encoder. The defaults are those of BERT-base (Devlin et al. 2019).
struct EncoderConfig {
  std::int64_t vocab = 30522;
  std::int64_t context = 512;    // number of positions
  std::int64_t token_types = 2;  // 0 = no embedding of token types
  /// The embedding of this id receives no gradient from look-ups; -1 = no padding id.
  std::int64_t padding_id = 0;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t head_size = 0;  // 0 means width / heads
  std::int64_t width = 768;
  std::int64_t inner = 3072;         // width of the feed-forward block
  std::int64_t embedding_width = 0;  // 0 means width
  EmbeddingProjection embedding_projection = EmbeddingProjection::none;
  Activation activation = Activation::gelu_erf;
  double layer_norm_eps = 1e-12;
  /// Normalise before attention and feed-forward (pre-norm, Xiong et al. 2020), but neither after
  /// the embeddings nor at the end, so that hidden states keep their magnitude.
  bool norm_first = false;

  EncoderPositions positions = EncoderPositions::absolute;
  /// Tokens other than padding_id have the positions padding_id + 1, padding_id + 2, ...; padding
  /// has position padding_id (RoBERTa). By default, positions count from 0 over all tokens.
  bool positions_skip_padding = false;
  bool trainable_positions = true;  // false: keep the initial or loaded table

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

  double hidden_dropout = 0;  // on embeddings and on the outputs of attention and feed-forward
  double attention_dropout = 0;
  double initializer_range = 0.02;

  std::int64_t embeddings() const { return embedding_width == 0 ? width : embedding_width; }
  std::int64_t head_width() const { return head_size == 0 ? width / heads : head_size; }
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
