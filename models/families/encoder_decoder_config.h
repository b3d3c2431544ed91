// EncoderDecoderConfig: sizes and options of an encoder-decoder.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/models/fields/field_list.h"
#include "weft/models/layers/activation.h"

namespace WEFT_API weft {

/// How both stacks represent token positions.
enum class Seq2SeqPositions : std::uint8_t {
  sinusoidal,     // sines and cosines added to the embeddings (Vaswani et al. 2017)
  learned,        // learned embeddings added to the token embeddings (BART)
  relative_bias,  // learned bias on the scores per head and distance bucket (T5)
  rotary,         // queries and keys rotated by the position (T5Gemma)
};
/// Position of the norms in a block.
enum class Seq2SeqNorm : std::uint8_t {
  post_norm,  // h = norm(h + f(h))
  pre_norm,   // h = h + f(norm(h)), with a final norm at the end of the stack
  sandwich,   // h = h + norm(f(norm(h))), with a final norm at the end of the stack (T5Gemma)
};
/// First id of the decoder's input in training, which precedes the labels.
enum class DecoderStart : std::uint8_t {
  start_id,    // EncoderDecoderConfig::start_id
  last_label,  // the last label that is not padding: a language code (mBART)
};
// The names in JSON are the names of the enumerators. Parsing any other name throws ArgumentError
// with a list of the valid names.
ChoiceNames choice_names(Seq2SeqPositions);
ChoiceNames choice_names(Seq2SeqNorm);
ChoiceNames choice_names(DecoderStart);

/// Sizes and attention of one stack of an encoder-decoder.
struct Seq2SeqStack {
  std::int64_t width, layers, heads, kv_heads, head_size, inner;
  double attention_scale;  // factor of the scores
  double rotary_base;
  /// A token attends to tokens at distances below the window (causal: and not to later ones); 0 =
  /// no limit.
  std::int64_t window;
  std::string window_layers;  // pattern: layers with the window

  /// The window of the layer, counted from 0; 0 = none.
  std::int64_t window_of(std::int64_t layer) const;
};

/// Sizes and options of an encoder-decoder. The defaults are the base model of Vaswani et al.
/// (2017).
struct EncoderDecoderConfig {
  std::int64_t vocab = 37000;
  std::int64_t decoder_vocab = 0;  // 0: the decoder shares the encoder's token table
  std::int64_t width = 512;
  std::int64_t encoder_layers = 6, decoder_layers = 6;
  std::int64_t encoder_heads = 8, decoder_heads = 8;
  std::int64_t encoder_inner = 2048, decoder_inner = 2048;  // width of the feed-forward blocks
  std::int64_t head_size = 0;                               // 0 means width / heads
  std::int64_t decoder_width = 0;                           // 0 means width
  std::int64_t decoder_head_size = 0;                       // 0 means as in the encoder
  /// Heads of keys and values, which must divide the heads of the stack; 0 means all heads.
  std::int64_t encoder_kv_heads = 0, decoder_kv_heads = 0;
  Activation activation = Activation::relu;
  bool gated = false;  // down(activation(gate(x)) * up(x))
  bool bias = true;    // biases of linear layers
  // Biases of some linear layers if `bias` is false.
  bool attention_bias = false;  // in attention
  bool mlp_bias = false;        // in the feed-forward blocks (PEGASUS-X)
  bool scale_scores = true;     // divide scores by sqrt(head size)
  /// Factor of the scores (T5Gemma); 0 = by scale_scores.
  double encoder_attention_scale = 0, decoder_attention_scale = 0;
  double attention_soft_cap = 0;  // scores are cap * tanh(scores / cap) (T5Gemma); 0 = none
  double logit_soft_cap = 0;      // logits are cap * tanh(logits / cap) (T5Gemma); 0 = none
  bool rms_norm = false;          // RMSNorm instead of LayerNorm
  bool norm_offset = false;       // weights of norms are stored minus 1 (T5Gemma)
  double layer_norm_eps = 1e-5;
  Seq2SeqNorm norm = Seq2SeqNorm::post_norm;
  bool embedding_norm = false;  // norm after the embeddings
  bool scale_embedding = true;  // multiply token embeddings by sqrt(width)

  Seq2SeqPositions positions = Seq2SeqPositions::sinusoidal;
  std::int64_t context = 1024;       // learned: maximum sequence length
  std::int64_t position_offset = 0;  // learned: rows of the table before position 0
  std::int64_t relative_buckets = 32;
  std::int64_t relative_max_distance = 128;
  bool relative_bias_layers = false;  // relative_bias: one table per layer (UMT5)
  /// sinusoidal: feature j has the rate 10000^(-j / (width/2 - 1)) instead of 10000^(-2j / width),
  /// as in tensor2tensor and fairseq. If the width is odd, the last feature is 0.
  bool sinusoidal_endpoint = false;
  /// sinusoidal: positions start at padding_id + 1 and count only tokens other than padding. The
  /// encoding of padding is 0 (fairseq, M2M100).
  bool positions_skip_padding = false;

  double rotary_base = 10000;
  double decoder_rotary_base = 0;  // 0 means rotary_base

  // Attention with memory that grows linearly with the length of a text.
  /// Tokens attend to tokens at distances below the window (LongT5, T5Gemma); in the decoder, not
  /// to later ones. 0 = no limit. The patterns of 0 and 1, which are repeated over the layers,
  /// select the layers with the window; an empty pattern selects all.
  std::int64_t encoder_window = 0, decoder_window = 0;
  std::string encoder_window_layers = {}, decoder_window_layers = {};
  /// Encoder tokens attend to their block of this many tokens and to the global tokens (Phang et
  /// al. 2023, "PEGASUS-X"); 0 = no blocks.
  std::int64_t encoder_block = 0;
  /// Learned vectors that attend to all tokens, and to which all tokens attend. Needs
  /// encoder_block.
  std::int64_t global_tokens = 0;
  bool stagger_blocks = false;  // shift the blocks of every second layer by half a block

  bool tied_head = true;         // the output projection is the decoder's token table
  bool scale_tied_head = false;  // divide the input of a tied head by sqrt(width) (T5)
  bool head_bias = false;        // untrained bias of the logits, "head.bias" (BART)

  // Mixture of experts, if experts > 0 (Fedus et al. 2021, "Switch Transformers"): the feed-forward
  // blocks of some layers consist of experts, one of which processes each token.
  std::int64_t experts = 0;
  /// Layer i has experts if i % step == 1, or if the step is 1; 0 = no layer.
  std::int64_t encoder_sparse_step = 2, decoder_sparse_step = 2;
  /// Maximum number of tokens of one text per expert. The block adds 0 to further tokens.
  std::int64_t expert_capacity = 64;
  bool router_bias = false;
  double router_jitter = 0;     // training: router inputs are multiplied by 1 +- this noise
  double balancing_weight = 0;  // weight of the load-balancing losses in the training loss
  double router_z_weight = 0;   // weight of the router z-losses in the training loss

  // Speech recognition, if mel_bins > 0 (Radford et al. 2022, "Whisper"): the encoder reads log-mel
  // spectrograms. Two convolutions, which halve the number of frames, replace the token embeddings,
  // and a fixed table of positions (sinusoids) is added. `positions` must be learned and applies to
  // the decoder, which alone has a token table.
  std::int64_t mel_bins = 0;           // rows of a spectrogram; 0 = the encoder reads token ids
  std::int64_t source_context = 1500;  // positions of the encoder; spectrograms have 2 frames each
  bool key_bias = true;                // with `bias`: the key projections have biases, too

  std::int64_t start_id = 0;     // first id of the decoder's input; -1 = none
  std::int64_t padding_id = -1;  // -1 = none
  bool frozen_padding = false;   // the row of padding_id gets no gradient from look-ups
  DecoderStart decoder_start = DecoderStart::start_id;

  double dropout = 0.1;              // on the embeddings and on the outputs of blocks
  double attention_dropout = 0;      // on the attention probabilities
  double activation_dropout = 0;     // inside the feed-forward blocks
  double final_dropout = 0;          // on the last hidden states (T5)
  double encoder_layer_dropout = 0;  // rate of skipping whole layers (LayerDrop, Fan et al. 2020)
  double decoder_layer_dropout = 0;
  double label_smoothing = 0;  // of the training loss (Szegedy et al. 2016)
  /// Standard deviation of the initial matrices. 0 selects T5's initialisation: initializer_factor
  /// for token and position tables, and initializer_factor / sqrt(number of inputs) for everything
  /// else.
  double initializer_range = 0.02;
  double initializer_factor = 1;

  bool shared_tokens() const { return decoder_vocab == 0; }
  std::int64_t target_vocab() const { return decoder_vocab == 0 ? vocab : decoder_vocab; }
  bool reads_speech() const { return mel_bins > 0; }
  /// Returns the number of frames in a spectrogram that the encoder reads.
  std::int64_t frames() const { return 2 * source_context; }
  /// Returns the number of features per head for a stack with `heads` heads.
  std::int64_t head_width(std::int64_t heads) const {
    return head_size == 0 ? width / heads : head_size;
  }
  /// The resolved sizes and the attention of the stacks.
  Seq2SeqStack encoder() const;
  Seq2SeqStack decoder() const;  ///< See encoder().
  /// Returns true if the layer, counted from 0, consists of experts.
  bool has_experts(std::int64_t layer, bool decoder) const;
  /// T5's options (Raffel et al. 2020), at the size of t5-small.
  static EncoderDecoderConfig t5();
  /// BART's options (Lewis et al. 2020), at the size of bart-large.
  static EncoderDecoderConfig bart();
  /// Whisper's options (Radford et al. 2022), at the size of whisper-tiny.
  static EncoderDecoderConfig whisper();

  /// Throws ArgumentError if a field is invalid; the message names the field, its value and the
  /// valid values.
  void check() const;
  /// All fields with their help texts.
  static const FieldList<EncoderDecoderConfig>& fields();
  /// Returns a JSON object with every field: {"vocab": ..., ..., "family": "encoder_decoder"}.
  std::string to_json() const;
  /// Throws FormatError if a field is missing, unknown or has the wrong type, and ArgumentError
  /// under the same conditions as check().
  static EncoderDecoderConfig from_json(std::string_view json);

  friend bool operator==(const EncoderDecoderConfig&, const EncoderDecoderConfig&) = default;
};

}  // namespace weft
