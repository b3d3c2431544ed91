// EncoderDecoderConfig: what an encoder-decoder is made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/models/fields/field_list.h"
#include "weft/models/layers/activation.h"

namespace WEFT_API weft {

/// How both stacks know where a token stands.
enum class Seq2SeqPositions : std::uint8_t {
  sinusoidal,     // sines and cosines added to the tokens (Vaswani et al. 2017)
  learned,        // learned vectors added to the tokens (BART)
  relative_bias,  // a number per head and bucket of distances added to the scores (T5)
};
/// What normalises.
enum class Seq2SeqNorm : std::uint8_t {
  post_norm,  // h = norm(h + f(h))
  pre_norm,   // h = h + f(norm(h)), and a norm at the end of the stack
};
/// What the id in front of the labels is, when they become the decoder's input.
enum class DecoderStart : std::uint8_t {
  start_id,    // EncoderDecoderConfig::start_id
  last_label,  // the last label that is not padding: a language code (mBART)
};
// Names for JSON: those above. Reading throws ArgumentError that lists the legal ones.
ChoiceNames choice_names(Seq2SeqPositions);
ChoiceNames choice_names(Seq2SeqNorm);
ChoiceNames choice_names(DecoderStart);

/// Sizes and choices of an encoder-decoder. The defaults are the base model of Vaswani et al.
/// (2017).
struct EncoderDecoderConfig {
  std::int64_t vocab = 37000;
  std::int64_t decoder_vocab = 0;  // 0: the decoder shares the encoder's table of tokens
  std::int64_t width = 512;
  std::int64_t encoder_layers = 6, decoder_layers = 6;
  std::int64_t encoder_heads = 8, decoder_heads = 8;
  std::int64_t encoder_inner = 2048, decoder_inner = 2048;  // of the feed-forward blocks
  std::int64_t head_size = 0;                               // 0 means width / heads
  Activation activation = Activation::relu;
  bool gated = false;        // down(activation(gate(x)) * up(x))
  bool bias = true;          // of linear layers
  bool scale_scores = true;  // by 1 / sqrt(head size)
  bool rms_norm = false;     // RMSNorm instead of LayerNorm
  double layer_norm_eps = 1e-5;
  Seq2SeqNorm norm = Seq2SeqNorm::post_norm;
  bool embedding_norm = false;  // a norm after the embeddings
  bool scale_embedding = true;  // token embeddings times sqrt(width)

  Seq2SeqPositions positions = Seq2SeqPositions::sinusoidal;
  std::int64_t context = 1024;       // learned: longest sequence
  std::int64_t position_offset = 0;  // learned: rows of the table in front of position 0
  std::int64_t relative_buckets = 32;
  std::int64_t relative_max_distance = 128;

  bool tied_head = true;         // the output projection is the decoder's table of tokens
  bool scale_tied_head = false;  // what it reads is then divided by sqrt(width) (T5)
  bool head_bias = false;        // a bias of the logits that is not learnt, "head.bias" (BART)

  std::int64_t start_id = 0;     // what the decoder starts from; -1 = none
  std::int64_t padding_id = -1;  // -1 = none
  bool frozen_padding = false;   // look-ups of padding_id give its row no gradient
  DecoderStart decoder_start = DecoderStart::start_id;

  double dropout = 0.1;              // on embeddings and on what layers add
  double attention_dropout = 0;      // on the attention probabilities
  double activation_dropout = 0;     // inside the feed-forward blocks
  double final_dropout = 0;          // on the last hidden states (T5)
  double encoder_layer_dropout = 0;  // whole layers are left out (LayerDrop, Fan et al. 2020)
  double decoder_layer_dropout = 0;
  double label_smoothing = 0;  // of the training loss (Szegedy et al. 2016)
  /// Standard deviation of matrices at the start; 0: matrices and tables start as T5's, with
  /// initializer_factor / sqrt(size of what they read), tokens with initializer_factor.
  double initializer_range = 0.02;
  double initializer_factor = 1;

  bool shared_tokens() const { return decoder_vocab == 0; }
  std::int64_t target_vocab() const { return decoder_vocab == 0 ? vocab : decoder_vocab; }
  /// Features of each of `heads` heads.
  std::int64_t head_width(std::int64_t heads) const {
    return head_size == 0 ? width / heads : head_size;
  }
  /// T5's choices (Raffel et al. 2020), at the size of t5-small.
  static EncoderDecoderConfig t5();
  /// BART's (Lewis et al. 2020), at the size of bart-large.
  static EncoderDecoderConfig bart();

  /// Throws ArgumentError naming the field, its value and what is allowed.
  void check() const;
  /// Every field, with its help.
  static const FieldList<EncoderDecoderConfig>& fields();
  /// {"vocab": ..., ..., "family": "encoder_decoder"}. Every field is written.
  std::string to_json() const;
  /// Throws FormatError for a missing, unknown or wrongly typed field, ArgumentError as check().
  static EncoderDecoderConfig from_json(std::string_view json);

  friend bool operator==(const EncoderDecoderConfig&, const EncoderDecoderConfig&) = default;
};

}  // namespace weft
