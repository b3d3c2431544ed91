// GptConfig: what a GPT-2 is made of, and its translation from and to Hugging Face's config.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/models/layers/activation.h"

namespace weft {

/// Sizes and choices of a GPT-2 (Radford et al. 2019, "Language models are unsupervised multitask
/// learners"). The defaults are GPT-2's own.
struct GptConfig {
  std::int64_t vocab = 50257;
  std::int64_t layers = 12;
  std::int64_t heads = 12;
  std::int64_t width = 768;     // of embeddings and hidden states; a multiple of heads
  std::int64_t context = 1024;  // number of learned positions
  std::int64_t inner = 0;       // width of the feed-forward block; 0 means 4 * width
  Activation activation = Activation::gelu_tanh;
  bool bias = true;       // biases of linear layers and norms
  bool tied_head = true;  // the output projection is the token embedding
  double layer_norm_eps = 1e-5;
  bool scale_attention = true;                    // scores are divided by sqrt(width / heads)
  bool scale_attention_by_inverse_layer = false;  // scores of layer i are divided by i + 1, too
  double embedding_dropout = 0;
  double attention_dropout = 0;  // on the attention probabilities
  double residual_dropout = 0;   // on the outputs of attention and feed-forward
  /// Standard deviation of matrices at the start; projections into the residual stream get
  /// initializer_range / sqrt(2 * layers), as the paper says.
  double initializer_range = 0.02;

  std::int64_t inner_width() const { return inner == 0 ? 4 * width : inner; }
  std::int64_t head_size() const { return width / heads; }
  /// Number of learnt numbers, without building anything (GPT-2 small: 124439808).
  std::int64_t parameter_count() const;
  /// Throws ArgumentError naming the field, its value and what is allowed.
  void check() const;

  /// {"vocab": ..., ..., "family": "gpt"}: what checkpoints store. Every field is written.
  std::string to_json() const;
  /// Throws FormatError for a missing, unknown or wrongly typed field, ArgumentError as check().
  static GptConfig from_json(std::string_view json);
  /// From a Hugging Face GPT-2 config.json (missing keys have that library's defaults). Every key
  /// that changes numbers is honoured or, where it asks for what is not there, refused by name
  /// (ArgumentError).
  static GptConfig from_hugging_face(std::string_view json);

  friend bool operator==(const GptConfig&, const GptConfig&) = default;
};

}  // namespace weft
