#include "weft/models/families/encoder_decoder_config.h"

#include <fmt/format.h>

#include <array>

#include "weft/core/error.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/fields/check.h"

namespace weft {
namespace {

constexpr std::array<std::string_view, 3> kSeq2SeqPositions = {"sinusoidal", "learned",
                                                               "relative_bias"};
constexpr std::array<std::string_view, 2> kNorms = {"post_norm", "pre_norm"};
constexpr std::array<std::string_view, 2> kStarts = {"start_id", "last_label"};

}  // namespace

ChoiceNames choice_names(Seq2SeqPositions) { return {"positions", kSeq2SeqPositions}; }
ChoiceNames choice_names(Seq2SeqNorm) { return {"norm", kNorms}; }
ChoiceNames choice_names(DecoderStart) { return {"decoder_start", kStarts}; }

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
  check::at_least("context", context, 1);
  check::at_least("position_offset", position_offset, 0);
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
                  {"context", context, size_limits::kPositions},
                  {"position_offset", position_offset, size_limits::kPositions},
                  {"relative_buckets", relative_buckets, size_limits::kPositions},
                  {"relative_max_distance", relative_max_distance, size_limits::kPositions}});
  for (const std::int64_t heads : {encoder_heads, decoder_heads}) {
    if (head_size == 0 && width % heads != 0)
      throw ArgumentError(
          fmt::format("width {} is not a multiple of heads {}: all heads must have the same size",
                      width, heads));
  }
  if (positions == Seq2SeqPositions::sinusoidal && width % 2 != 0)
    throw ArgumentError(fmt::format("sinusoidal positions need an even width, not {}", width));
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
               "factor for the standard deviations of T5's initialisation");
  return list;
}

std::string EncoderDecoderConfig::to_json() const { return fields().to_json(*this); }

EncoderDecoderConfig EncoderDecoderConfig::from_json(std::string_view text) {
  return fields().from_json(text);
}

}  // namespace weft
