#include "weft/models/families/encoder_decoder_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "weft/core/error.h"
#include "weft/models/families/layer_pattern.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/fields/check.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, 4> kSeq2SeqPositions = {"sinusoidal", "learned",
                                                               "relative_bias", "rotary"};
constexpr std::array<std::string_view, 3> kNorms = {"post_norm", "pre_norm", "sandwich"};
constexpr std::array<std::string_view, 2> kStarts = {"start_id", "last_label"};

/// Checks the resolved fields of a stack, which is called "encoder" or "decoder".
void check_stack(const EncoderDecoderConfig& c, std::string_view name, const Seq2SeqStack& stack) {
  const auto field = [&](const char* what) { return fmt::format("{}_{}", name, what); };
  if (stack.kv_heads < 1 || stack.heads % stack.kv_heads != 0)
    throw ArgumentError(fmt::format("{} {} must divide {} {}", field("kv_heads"), stack.kv_heads,
                                    field("heads"), stack.heads));
  check::not_negative(field("attention_scale"), stack.attention_scale);
  check::at_least(field("window"), stack.window, 0);
  check_pattern(field("window_layers"), stack.window_layers, stack.layers);
  if (!stack.window_layers.empty() && stack.window == 0)
    throw ArgumentError(fmt::format("{} needs {}", field("window_layers"), field("window")));
  if (c.positions != Seq2SeqPositions::rotary) return;
  const bool own_base = name == "decoder" && c.decoder_rotary_base != 0;
  check::positive(own_base ? "decoder_rotary_base" : "rotary_base", stack.rotary_base);
  if (stack.head_size % 2 != 0)
    throw ArgumentError(fmt::format("rotary positions need an even head size, not {} in the {}",
                                    stack.head_size, name));
}

/// Checks the fields of block attention.
void check_blocks(const EncoderDecoderConfig& c) {
  check::at_least("encoder_block", c.encoder_block, 0);
  check::at_least("global_tokens", c.global_tokens, 0);
  if (c.encoder_block == 0) {
    if (c.global_tokens > 0 || c.stagger_blocks)
      throw ArgumentError("global_tokens and stagger_blocks need an encoder_block");
    return;
  }
  if (c.global_tokens == 0)
    throw ArgumentError(
        "encoder_block needs global_tokens of at least 1, without which blocks could not exchange "
        "information");
  if (c.stagger_blocks && c.encoder_block % 2 != 0)
    throw ArgumentError(fmt::format(
        "stagger_blocks shifts blocks by half their size, so encoder_block must be even, not {}",
        c.encoder_block));
  if (c.norm != Seq2SeqNorm::pre_norm || c.positions == Seq2SeqPositions::rotary ||
      c.positions == Seq2SeqPositions::relative_bias || c.encoder_window > 0)
    throw ArgumentError(
        "encoder_block needs norm pre_norm, learned or sinusoidal positions, and no "
        "encoder_window");
  if (c.attention_soft_cap != 0 || c.experts > 0)
    throw ArgumentError("encoder_block supports neither attention_soft_cap nor experts");
}

}  // namespace

ChoiceNames choice_names(Seq2SeqPositions) { return {"positions", kSeq2SeqPositions}; }
ChoiceNames choice_names(Seq2SeqNorm) { return {"norm", kNorms}; }
ChoiceNames choice_names(DecoderStart) { return {"decoder_start", kStarts}; }

std::int64_t Seq2SeqStack::window_of(std::int64_t layer) const {
  return layer_selected(window_layers, layer) ? window : 0;
}

Seq2SeqStack EncoderDecoderConfig::encoder() const {
  const std::int64_t size = head_width(encoder_heads);
  const double scale = scale_scores ? 1 / std::sqrt(static_cast<double>(size)) : 1.0;
  return {width,
          encoder_layers,
          encoder_heads,
          encoder_kv_heads == 0 ? encoder_heads : encoder_kv_heads,
          size,
          encoder_inner,
          encoder_attention_scale == 0 ? scale : encoder_attention_scale,
          rotary_base,
          encoder_window,
          encoder_window_layers};
}

Seq2SeqStack EncoderDecoderConfig::decoder() const {
  const std::int64_t own_width = decoder_width == 0 ? width : decoder_width;
  std::int64_t size = decoder_head_size == 0 ? head_size : decoder_head_size;
  if (size == 0) size = own_width / decoder_heads;
  const double scale = scale_scores ? 1 / std::sqrt(static_cast<double>(size)) : 1.0;
  return {own_width,
          decoder_layers,
          decoder_heads,
          decoder_kv_heads == 0 ? decoder_heads : decoder_kv_heads,
          size,
          decoder_inner,
          decoder_attention_scale == 0 ? scale : decoder_attention_scale,
          decoder_rotary_base == 0 ? rotary_base : decoder_rotary_base,
          decoder_window,
          decoder_window_layers};
}

EncoderDecoderConfig EncoderDecoderConfig::t5() {
  EncoderDecoderConfig c;
  c.vocab = 32128;
  c.head_size = 64;
  c.bias = c.scale_scores = c.scale_embedding = false;
  c.rms_norm = true;
  c.layer_norm_eps = 1e-6;
  c.norm = Seq2SeqNorm::pre_norm;
  c.positions = Seq2SeqPositions::relative_bias;
  c.scale_tied_head = true;
  c.padding_id = 0;
  c.attention_dropout = c.activation_dropout = c.final_dropout = c.dropout;
  c.initializer_range = 0;
  return c;
}

EncoderDecoderConfig EncoderDecoderConfig::bart() {
  EncoderDecoderConfig c;
  c.vocab = 50265;
  c.width = 1024;
  c.encoder_layers = c.decoder_layers = 12;
  c.encoder_heads = c.decoder_heads = 16;
  c.encoder_inner = c.decoder_inner = 4096;
  c.activation = Activation::gelu_erf;
  c.embedding_norm = true;
  c.scale_embedding = false;
  c.positions = Seq2SeqPositions::learned;
  c.position_offset = 2;
  c.head_bias = true;
  c.start_id = 2;
  c.padding_id = 1;
  c.frozen_padding = true;
  return c;
}

bool EncoderDecoderConfig::has_experts(std::int64_t layer, bool decoder) const {
  const std::int64_t step = decoder ? decoder_sparse_step : encoder_sparse_step;
  return experts > 0 && step > 0 && (step == 1 || layer % step == 1);
}

EncoderDecoderConfig EncoderDecoderConfig::whisper() {
  EncoderDecoderConfig c;
  c.vocab = 51865;
  c.width = 384;
  c.encoder_layers = c.decoder_layers = 4;
  c.encoder_heads = c.decoder_heads = 6;
  c.encoder_inner = c.decoder_inner = 1536;
  c.activation = Activation::gelu_erf;
  c.norm = Seq2SeqNorm::pre_norm;
  c.scale_embedding = c.key_bias = false;
  c.positions = Seq2SeqPositions::learned;
  c.context = 448;
  c.mel_bins = 80;
  c.start_id = 50257;
  c.padding_id = 50256;
  c.frozen_padding = true;
  c.dropout = 0;
  return c;
}

void EncoderDecoderConfig::check() const {
  check::at_least("vocab", vocab, 1);
  check::at_least("decoder_vocab", decoder_vocab, 0);
  check::at_least("width", width, 1);
  check::at_least("encoder_layers", encoder_layers, 1);
  check::at_least("decoder_layers", decoder_layers, 1);
  check::at_least("encoder_heads", encoder_heads, 1);
  check::at_least("decoder_heads", decoder_heads, 1);
  check::at_least("encoder_inner", encoder_inner, 1);
  check::at_least("decoder_inner", decoder_inner, 1);
  check::at_least("head_size", head_size, 0);
  check::at_least("decoder_head_size", decoder_head_size, 0);
  check::at_least("decoder_width", decoder_width, 0);
  check::at_least("context", context, 1);
  check::at_least("position_offset", position_offset, 0);
  check::at_least("experts", experts, 0);
  check::at_least("encoder_sparse_step", encoder_sparse_step, 0);
  check::at_least("decoder_sparse_step", decoder_sparse_step, 0);
  check::at_least("expert_capacity", expert_capacity, 1);
  check::at_least("mel_bins", mel_bins, 0);
  check::at_least("source_context", source_context, 1);
  check::at_least("start_id", start_id, -1);
  check::at_least("padding_id", padding_id, -1);
  check::at_most({{"vocab", vocab, size_limits::kVocab},
                  {"decoder_vocab", decoder_vocab, size_limits::kVocab},
                  {"width", width, size_limits::kWidth},
                  {"encoder_layers", encoder_layers, size_limits::kLayers},
                  {"decoder_layers", decoder_layers, size_limits::kLayers},
                  {"encoder_heads", encoder_heads, size_limits::kHeads},
                  {"decoder_heads", decoder_heads, size_limits::kHeads},
                  {"encoder_inner", encoder_inner, size_limits::kInner},
                  {"decoder_inner", decoder_inner, size_limits::kInner},
                  {"head_size", head_size, size_limits::kWidth},
                  {"decoder_head_size", decoder_head_size, size_limits::kWidth},
                  {"decoder_width", decoder_width, size_limits::kWidth},
                  {"encoder_window", encoder_window, size_limits::kPositions},
                  {"decoder_window", decoder_window, size_limits::kPositions},
                  {"encoder_block", encoder_block, size_limits::kPositions},
                  {"global_tokens", global_tokens, size_limits::kPositions},
                  {"context", context, size_limits::kPositions},
                  {"position_offset", position_offset, size_limits::kPositions},
                  {"relative_buckets", relative_buckets, size_limits::kPositions},
                  {"relative_max_distance", relative_max_distance, size_limits::kPositions},
                  {"experts", experts, size_limits::kExperts},
                  {"encoder_sparse_step", encoder_sparse_step, size_limits::kLayers},
                  {"decoder_sparse_step", decoder_sparse_step, size_limits::kLayers},
                  {"mel_bins", mel_bins, size_limits::kWidth},
                  {"source_context", source_context, size_limits::kPositions}});
  const auto check_heads = [](std::int64_t size, std::int64_t all, std::int64_t heads) {
    if (size == 0 && all % heads != 0)
      throw ArgumentError(fmt::format(
          "width {} is not a multiple of heads {}: all heads must have the same size", all, heads));
  };
  check_heads(head_size, width, encoder_heads);
  check_heads(std::max(head_size, decoder_head_size), decoder().width, decoder_heads);
  check_stack(*this, "encoder", encoder());
  check_stack(*this, "decoder", decoder());
  check_blocks(*this);
  if (decoder().width != width) {
    if (shared_tokens())
      throw ArgumentError(
          fmt::format("decoder_width {} differs from width {}, so decoder_vocab must be set: the "
                      "stacks cannot share a token table",
                      decoder_width, width));
    if (positions == Seq2SeqPositions::sinusoidal && decoder_width % 2 != 0 && !sinusoidal_endpoint)
      throw ArgumentError(
          fmt::format("sinusoidal positions need an even decoder_width, not {}", decoder_width));
  }
  if (norm_offset && !rms_norm) throw ArgumentError("norm_offset needs rms_norm");
  check::not_negative("attention_soft_cap", attention_soft_cap);
  check::not_negative("logit_soft_cap", logit_soft_cap);
  if (positions == Seq2SeqPositions::sinusoidal && width % 2 != 0 && !sinusoidal_endpoint)
    throw ArgumentError(fmt::format("sinusoidal positions need an even width, not {}", width));
  const bool sinusoidal = positions == Seq2SeqPositions::sinusoidal;
  if (sinusoidal_endpoint && !sinusoidal)
    throw ArgumentError("sinusoidal_endpoint needs sinusoidal positions");
  if (sinusoidal_endpoint && width < 4)
    throw ArgumentError(fmt::format(
        "sinusoidal_endpoint needs a width of at least 4, for two rates, not {}", width));
  if (positions_skip_padding && (!sinusoidal || padding_id < 0))
    throw ArgumentError("positions_skip_padding needs sinusoidal positions and a padding_id");
  if (relative_bias_layers && positions != Seq2SeqPositions::relative_bias)
    throw ArgumentError("relative_bias_layers needs relative_bias positions");
  if (experts > 0 && (gated || bias || mlp_bias))
    throw ArgumentError(
        "experts are blocks without gates and biases: set gated, bias and mlp_bias to false");
  if (mel_bins > 0 && positions != Seq2SeqPositions::learned)
    throw ArgumentError("mel_bins needs learned positions, which the decoder has");
  if (mel_bins > 0 && (width < 4 || width % 2 != 0))
    throw ArgumentError(fmt::format(
        "mel_bins needs an even width of at least 4, for the encoder's sinusoids, not {}", width));
  if (mel_bins > 0 && embedding_norm)
    throw ArgumentError("mel_bins needs embedding_norm = false: spectrograms are not normalised");
  if (mel_bins > 0 && decoder_vocab != 0)
    throw ArgumentError("mel_bins needs decoder_vocab = 0: only the decoder has a vocabulary");
  for (const auto& [name, id] : {std::pair{"start_id", start_id}, {"padding_id", padding_id}}) {
    if (id >= target_vocab())
      throw ArgumentError(
          fmt::format("{} {} is outside the vocabulary of {} ids", name, id, target_vocab()));
  }
  if (frozen_padding && padding_id < 0) throw ArgumentError("frozen_padding needs a padding_id");
  check::rate("dropout", dropout);
  check::rate("attention_dropout", attention_dropout);
  check::rate("activation_dropout", activation_dropout);
  check::rate("final_dropout", final_dropout);
  check::rate("encoder_layer_dropout", encoder_layer_dropout);
  check::rate("decoder_layer_dropout", decoder_layer_dropout);
  check::rate("label_smoothing", label_smoothing);
  check::rate("router_jitter", router_jitter);
  check::not_negative("balancing_weight", balancing_weight);
  check::not_negative("router_z_weight", router_z_weight);
  check::positive("layer_norm_eps", layer_norm_eps);
  check::not_negative("initializer_range", initializer_range);
  if (!(initializer_factor > 0))
    throw ArgumentError(
        fmt::format("initializer_factor must be positive, not {}", initializer_factor));
}

const FieldList<EncoderDecoderConfig>& EncoderDecoderConfig::fields() {
  static const auto list =
      FieldList<EncoderDecoderConfig>("the model config", "encoder_decoder")
          .add("vocab", &EncoderDecoderConfig::vocab, "vocabulary size")
          .add("decoder_vocab", &EncoderDecoderConfig::decoder_vocab,
               "vocabulary size of the decoder; 0 = shared with the encoder")
          .add("width", &EncoderDecoderConfig::width, "width of embeddings and hidden states")
          .add("encoder_layers", &EncoderDecoderConfig::encoder_layers, "layers of the encoder")
          .add("decoder_layers", &EncoderDecoderConfig::decoder_layers, "layers of the decoder")
          .add("encoder_heads", &EncoderDecoderConfig::encoder_heads,
               "attention heads of the encoder")
          .add("decoder_heads", &EncoderDecoderConfig::decoder_heads,
               "attention heads of the decoder")
          .add("encoder_inner", &EncoderDecoderConfig::encoder_inner,
               "width of the encoder's feed-forward blocks")
          .add("decoder_inner", &EncoderDecoderConfig::decoder_inner,
               "width of the decoder's feed-forward blocks")
          .add("head_size", &EncoderDecoderConfig::head_size,
               "features per head; 0 = width / heads")
          .add("activation", &EncoderDecoderConfig::activation,
               "activation of the feed-forward blocks")
          .add("gated", &EncoderDecoderConfig::gated, "use gated feed-forward blocks (T5 1.1)")
          .add("bias", &EncoderDecoderConfig::bias, "biases in linear layers")
          .add("scale_scores", &EncoderDecoderConfig::scale_scores,
               "divide scores by sqrt(head size)")
          .add("rms_norm", &EncoderDecoderConfig::rms_norm, "RMSNorm instead of LayerNorm")
          .add("layer_norm_eps", &EncoderDecoderConfig::layer_norm_eps, "epsilon of the norms")
          .add("norm", &EncoderDecoderConfig::norm, "norm after or before each block")
          .add("embedding_norm", &EncoderDecoderConfig::embedding_norm, "norm after the embeddings")
          .add("scale_embedding", &EncoderDecoderConfig::scale_embedding,
               "multiply embeddings by sqrt(width)")
          .add("positions", &EncoderDecoderConfig::positions,
               "position encoding; relative_bias is used by T5")
          .add("context", &EncoderDecoderConfig::context,
               "learned positions: maximum text length in tokens")
          .add("position_offset", &EncoderDecoderConfig::position_offset,
               "learned positions: row of position 0 in the table")
          .add("relative_buckets", &EncoderDecoderConfig::relative_buckets,
               "relative_bias: number of distance buckets")
          .add("relative_max_distance", &EncoderDecoderConfig::relative_max_distance,
               "relative_bias: all distances of at least this value share a bucket")
          .add("tied_head", &EncoderDecoderConfig::tied_head,
               "use the decoder's token embedding as the output projection")
          .add("scale_tied_head", &EncoderDecoderConfig::scale_tied_head,
               "divide the input of a tied head by sqrt(width) (T5)")
          .add("head_bias", &EncoderDecoderConfig::head_bias, "bias of the output projection")
          .add("start_id", &EncoderDecoderConfig::start_id, "first id of the decoder's input")
          .add("padding_id", &EncoderDecoderConfig::padding_id, "padding id; -1 = none")
          .add("frozen_padding", &EncoderDecoderConfig::frozen_padding,
               "do not train the padding embedding")
          .add("decoder_start", &EncoderDecoderConfig::decoder_start,
               "first id of the decoder's input in training")
          .add("dropout", &EncoderDecoderConfig::dropout,
               "dropout on the embeddings and on the outputs of blocks")
          .add("attention_dropout", &EncoderDecoderConfig::attention_dropout,
               "dropout on the attention probabilities")
          .add("activation_dropout", &EncoderDecoderConfig::activation_dropout,
               "dropout inside the feed-forward blocks")
          .add("final_dropout", &EncoderDecoderConfig::final_dropout,
               "dropout on the last hidden states")
          .add("encoder_layer_dropout", &EncoderDecoderConfig::encoder_layer_dropout,
               "rate of skipping whole encoder layers in training")
          .add("decoder_layer_dropout", &EncoderDecoderConfig::decoder_layer_dropout,
               "rate of skipping whole decoder layers in training")
          .add("label_smoothing", &EncoderDecoderConfig::label_smoothing,
               "label smoothing: weight of the uniform distribution in the targets")
          .add("initializer_range", &EncoderDecoderConfig::initializer_range,
               "standard deviation of the initial weight matrices; 0 = T5's initialisation")
          .add("initializer_factor", &EncoderDecoderConfig::initializer_factor,
               "factor for the standard deviations of T5's initialisation")
          .added("relative_bias_layers", &EncoderDecoderConfig::relative_bias_layers,
                 "relative_bias: a table in every layer")
          .added("sinusoidal_endpoint", &EncoderDecoderConfig::sinusoidal_endpoint,
                 "sinusoidal: rates of fairseq, the last of which is 1/10000")
          .added("positions_skip_padding", &EncoderDecoderConfig::positions_skip_padding,
                 "sinusoidal: count only tokens other than padding, from padding_id + 1 (M2M100)")
          .added("experts", &EncoderDecoderConfig::experts,
                 "experts in sparse feed-forward blocks; 0 = no sparse blocks")
          .added("encoder_sparse_step", &EncoderDecoderConfig::encoder_sparse_step,
                 "experts: encoder layer i has them if i % step is 1 or the step is 1; 0 = none")
          .added("decoder_sparse_step", &EncoderDecoderConfig::decoder_sparse_step,
                 "experts: the same for decoder layers")
          .added("expert_capacity", &EncoderDecoderConfig::expert_capacity,
                 "experts: maximum number of tokens of one text per expert")
          .added("router_bias", &EncoderDecoderConfig::router_bias, "experts: bias of the router")
          .added("router_jitter", &EncoderDecoderConfig::router_jitter,
                 "experts: multiplicative noise on the router's inputs in training")
          .added("balancing_weight", &EncoderDecoderConfig::balancing_weight,
                 "experts: weight of the load-balancing losses in the training loss")
          .added("router_z_weight", &EncoderDecoderConfig::router_z_weight,
                 "experts: weight of the router z-losses in the training loss")
          .added("decoder_width", &EncoderDecoderConfig::decoder_width,
                 "width of the decoder; 0 = width")
          .added("decoder_head_size", &EncoderDecoderConfig::decoder_head_size,
                 "features per head of the decoder; 0 = as in the encoder")
          .added("encoder_kv_heads", &EncoderDecoderConfig::encoder_kv_heads,
                 "key/value heads of the encoder; 0 = encoder-heads")
          .added("decoder_kv_heads", &EncoderDecoderConfig::decoder_kv_heads,
                 "key/value heads of the decoder; 0 = decoder-heads")
          .added("attention_bias", &EncoderDecoderConfig::attention_bias,
                 "biases in attention even without --bias")
          .added("mlp_bias", &EncoderDecoderConfig::mlp_bias,
                 "biases in the feed-forward blocks even without --bias")
          .added("encoder_attention_scale", &EncoderDecoderConfig::encoder_attention_scale,
                 "factor of the encoder's attention scores; 0 = by scale-scores")
          .added("decoder_attention_scale", &EncoderDecoderConfig::decoder_attention_scale,
                 "factor of the decoder's attention scores; 0 = by scale-scores")
          .added("attention_soft_cap", &EncoderDecoderConfig::attention_soft_cap,
                 "soft cap of the attention scores; 0 = none")
          .added("logit_soft_cap", &EncoderDecoderConfig::logit_soft_cap,
                 "soft cap of the logits; 0 = none")
          .added("norm_offset", &EncoderDecoderConfig::norm_offset,
                 "store the weights of RMSNorms minus 1")
          .added("rotary_base", &EncoderDecoderConfig::rotary_base,
                 "rotary: base of the frequencies")
          .added("decoder_rotary_base", &EncoderDecoderConfig::decoder_rotary_base,
                 "rotary: base in the decoder; 0 = rotary-base")
          .added("encoder_window", &EncoderDecoderConfig::encoder_window,
                 "encoder tokens attend to tokens at distances below the window; 0 = all")
          .added("decoder_window", &EncoderDecoderConfig::decoder_window,
                 "decoder tokens attend to tokens at distances below the window; 0 = all")
          .added("encoder_window_layers", &EncoderDecoderConfig::encoder_window_layers,
                 "pattern of 0 and 1: encoder layers with the window; empty = all")
          .added("decoder_window_layers", &EncoderDecoderConfig::decoder_window_layers,
                 "pattern of 0 and 1: decoder layers with the window; empty = all")
          .added("encoder_block", &EncoderDecoderConfig::encoder_block,
                 "encoder tokens attend to their block of this size and to global tokens; 0 = all")
          .added("global_tokens", &EncoderDecoderConfig::global_tokens,
                 "global tokens of the encoder, with encoder-block")
          .added("stagger_blocks", &EncoderDecoderConfig::stagger_blocks,
                 "shift the blocks of every second layer by half a block")
          .added("mel_bins", &EncoderDecoderConfig::mel_bins,
                 "mel bins of the spectrograms that the encoder reads; 0 = it reads token ids")
          .added("source_context", &EncoderDecoderConfig::source_context,
                 "mel_bins: positions of the encoder; a spectrogram has two frames per position")
          .added("key_bias", &EncoderDecoderConfig::key_bias,
                 "biases of the key projections, if linear layers have biases");
  return list;
}

std::string EncoderDecoderConfig::to_json() const { return fields().to_json(*this); }

EncoderDecoderConfig EncoderDecoderConfig::from_json(std::string_view text) {
  return fields().from_json(text);
}

}  // namespace weft
