// EncoderConfig: what a bidirectional encoder of the BERT family is made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/models/fields/field_list.h"
#include "weft/models/layers/activation.h"

namespace WEFT_API weft {

/// How an encoder knows where a token stands.
enum class EncoderPositions : std::uint8_t {
  absolute,            // learned vectors added to the tokens (BERT)
  relative_key,        // vectors of the distance meet the queries (Shaw et al. 2018)
  relative_key_query,  // ... and the keys (Huang et al. 2020)
  disentangled,        // content and distance apart (DeBERTa)
  none,                // not at all: order counts only within a convolution
};
/// "absolute", "relative_key", "relative_key_query", "disentangled", "none".
ChoiceNames choice_names(EncoderPositions);

/// Where embeddings of another width become as wide as the layers.
enum class EmbeddingProjection : std::uint8_t {
  none,
  after_norm,   // with bias, after the embeddings' norm (ALBERT, ELECTRA)
  before_norm,  // without bias, before it (DeBERTa)
};
/// "none", "after_norm", "before_norm".
ChoiceNames choice_names(EmbeddingProjection);

/// Sizes and choices of an encoder. The defaults are BERT-base (Devlin et al. 2019).
struct EncoderConfig {
  std::int64_t vocab = 30522;
  std::int64_t context = 512;    // positions
  std::int64_t token_types = 2;  // 0 = no embedding of token types
  std::int64_t padding_id = 0;   // its embedding gets no gradient from look-ups; -1 = no such id
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t head_size = 0;  // 0 means width / heads
  std::int64_t width = 768;
  std::int64_t inner = 3072;         // of the feed-forward block
  std::int64_t embedding_width = 0;  // 0 means width
  EmbeddingProjection embedding_projection = EmbeddingProjection::none;
  Activation activation = Activation::gelu_erf;
  double layer_norm_eps = 1e-12;
  /// The norms stand in front of attention and feed-forward (Xiong et al. 2020), none behind the
  /// embeddings or at the end: what a token says goes on by its own length.
  bool norm_first = false;

  EncoderPositions positions = EncoderPositions::absolute;
  /// Position p of a token counts from padding_id + 1 over the tokens that are not padding_id,
  /// which itself stands at padding_id (RoBERTa); the default counts from 0 over all.
  bool positions_skip_padding = false;
  bool trainable_positions = true;  // false: the table stays as it starts or is loaded

  /// Sharing of layers (ALBERT): layers are dealt to `layer_groups` groups in order, and a group is
  /// `group_layers` layers applied one after the other. 0 = every layer has weights of its own.
  std::int64_t layer_groups = 0;
  std::int64_t group_layers = 1;

  // Disentangled attention only (DisentangledAttentionOptions says more).
  bool content_to_position = true;
  bool position_to_content = true;
  bool relative_attention = true;
  bool absolute_positions = false;  // also add learned positions to the tokens
  bool fused_attention = false;     // version 1
  bool shared_projections = false;  // of content and positions
  std::int64_t max_relative = 512;
  std::int64_t position_buckets = 0;
  bool relative_norm = false;    // a norm over the table of relative positions
  std::int64_t conv_kernel = 0;  // 0 = no convolution beside the first layer
  std::int64_t conv_groups = 1;
  /// The groups of the convolution are in turn so wide, 2 wider, ... and conv_kernel wide: some see
  /// words, others pairs and triples (Kim 2014). 0 = all are conv_kernel wide.
  std::int64_t conv_least_kernel = 0;
  Activation conv_activation = Activation::tanh;

  double hidden_dropout = 0;  // on embeddings and on the outputs of attention and feed-forward
  double attention_dropout = 0;
  double initializer_range = 0.02;

  std::int64_t embeddings() const { return embedding_width == 0 ? width : embedding_width; }
  std::int64_t head_width() const { return head_size == 0 ? width / heads : head_size; }
  /// Most tokens of a row: where positions skip padding, those up to padding_id stand for none.
  std::int64_t longest_row() const {
    return context - (positions_skip_padding ? padding_id + 1 : 0);
  }
  /// Number of layers that have weights.
  std::int64_t distinct_layers() const {
    return layer_groups == 0 ? layers : layer_groups * group_layers;
  }
  /// Throws ArgumentError naming the field, its value and what is allowed.
  void check() const;

  /// Every field, with its help.
  static const FieldList<EncoderConfig>& fields();
  /// {"vocab": ..., ..., "family": "encoder"}. Every field is written.
  std::string to_json() const;
  /// Throws FormatError for a missing, unknown or wrongly typed field, ArgumentError as check().
  static EncoderConfig from_json(std::string_view json);

  friend bool operator==(const EncoderConfig&, const EncoderConfig&) = default;
};

}  // namespace weft
