#include "weft/models/families/encoder_decoder_config.h"

#include <fmt/format.h>

#include <array>

#include "weft/core/error.h"
#include "weft/models/families/size_limits.h"
#include "weft/models/json_fields.h"

namespace weft {
namespace {

using json_fields::json;

constexpr std::array<std::string_view, 3> kPositions = {"sinusoidal", "learned", "relative_bias"};
constexpr std::array<std::string_view, 2> kNorms = {"post_norm", "pre_norm"};
constexpr std::array<std::string_view, 2> kStarts = {"start_id", "last_label"};

/// Every field: the one list that writing and reading share.
const auto kFields = [](auto& c, auto&& visit) {
  visit("vocab", c.vocab);
  visit("decoder_vocab", c.decoder_vocab);
  visit("width", c.width);
  visit("encoder_layers", c.encoder_layers);
  visit("decoder_layers", c.decoder_layers);
  visit("encoder_heads", c.encoder_heads);
  visit("decoder_heads", c.decoder_heads);
  visit("encoder_inner", c.encoder_inner);
  visit("decoder_inner", c.decoder_inner);
  visit("head_size", c.head_size);
  visit("activation", c.activation);
  visit("gated", c.gated);
  visit("bias", c.bias);
  visit("scale_scores", c.scale_scores);
  visit("rms_norm", c.rms_norm);
  visit("layer_norm_eps", c.layer_norm_eps);
  visit("norm", c.norm);
  visit("embedding_norm", c.embedding_norm);
  visit("scale_embedding", c.scale_embedding);
  visit("positions", c.positions);
  visit("context", c.context);
  visit("position_offset", c.position_offset);
  visit("relative_buckets", c.relative_buckets);
  visit("relative_max_distance", c.relative_max_distance);
  visit("tied_head", c.tied_head);
  visit("scale_tied_head", c.scale_tied_head);
  visit("head_bias", c.head_bias);
  visit("start_id", c.start_id);
  visit("padding_id", c.padding_id);
  visit("frozen_padding", c.frozen_padding);
  visit("decoder_start", c.decoder_start);
  visit("dropout", c.dropout);
  visit("attention_dropout", c.attention_dropout);
  visit("activation_dropout", c.activation_dropout);
  visit("final_dropout", c.final_dropout);
  visit("encoder_layer_dropout", c.encoder_layer_dropout);
  visit("decoder_layer_dropout", c.decoder_layer_dropout);
  visit("label_smoothing", c.label_smoothing);
  visit("initializer_range", c.initializer_range);
  visit("initializer_factor", c.initializer_factor);
};

}  // namespace

std::string_view field_name(Seq2SeqPositions p) { return kPositions[static_cast<std::size_t>(p)]; }
std::string_view field_name(Seq2SeqNorm norm) { return kNorms[static_cast<std::size_t>(norm)]; }
std::string_view field_name(DecoderStart s) { return kStarts[static_cast<std::size_t>(s)]; }
void parse_field(std::string_view name, Seq2SeqPositions& positions) {
  positions = json_fields::parse_choice<Seq2SeqPositions>(kPositions, name, "positions");
}
void parse_field(std::string_view name, Seq2SeqNorm& norm) {
  norm = json_fields::parse_choice<Seq2SeqNorm>(kNorms, name, "norm");
}
void parse_field(std::string_view name, DecoderStart& start) {
  start = json_fields::parse_choice<DecoderStart>(kStarts, name, "decoder_start");
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

void EncoderDecoderConfig::check() const {
  const auto at_least = [](std::string_view name, std::int64_t value, std::int64_t low) {
    if (value < low)
      throw ArgumentError(fmt::format("{} must be at least {}, not {}", name, low, value));
  };
  at_least("vocab", vocab, 1);
  at_least("decoder_vocab", decoder_vocab, 0);
  at_least("width", width, 1);
  at_least("encoder_layers", encoder_layers, 1);
  at_least("decoder_layers", decoder_layers, 1);
  at_least("encoder_heads", encoder_heads, 1);
  at_least("decoder_heads", decoder_heads, 1);
  at_least("encoder_inner", encoder_inner, 1);
  at_least("decoder_inner", decoder_inner, 1);
  at_least("head_size", head_size, 0);
  at_least("context", context, 1);
  at_least("position_offset", position_offset, 0);
  at_least("start_id", start_id, -1);
  at_least("padding_id", padding_id, -1);
  size_limits::check({{"vocab", vocab, size_limits::kVocab},
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
      throw ArgumentError(fmt::format(
          "width {} is not a multiple of heads {}: every head needs the same size", width, heads));
  }
  if (positions == Seq2SeqPositions::sinusoidal && width % 2 != 0)
    throw ArgumentError(fmt::format("sinusoidal positions need an even width, not {}", width));
  for (const auto& [name, id] : {std::pair{"start_id", start_id}, {"padding_id", padding_id}}) {
    if (id >= target_vocab())
      throw ArgumentError(
          fmt::format("{} {} is outside the vocabulary of {}", name, id, target_vocab()));
  }
  if (frozen_padding && padding_id < 0) throw ArgumentError("frozen_padding needs a padding_id");
  const auto rate = [](std::string_view name, double value) {
    if (!(value >= 0 && value < 1))
      throw ArgumentError(fmt::format("{} must be in [0, 1), not {}", name, value));
  };
  rate("dropout", dropout);
  rate("attention_dropout", attention_dropout);
  rate("activation_dropout", activation_dropout);
  rate("final_dropout", final_dropout);
  rate("encoder_layer_dropout", encoder_layer_dropout);
  rate("decoder_layer_dropout", decoder_layer_dropout);
  rate("label_smoothing", label_smoothing);
  if (!(layer_norm_eps > 0))
    throw ArgumentError(fmt::format("layer_norm_eps must be positive, not {}", layer_norm_eps));
  if (!(initializer_range >= 0))
    throw ArgumentError(
        fmt::format("initializer_range must not be negative, not {}", initializer_range));
  if (!(initializer_factor > 0))
    throw ArgumentError(
        fmt::format("initializer_factor must be positive, not {}", initializer_factor));
}

std::string EncoderDecoderConfig::to_json() const {
  auto out = json_fields::write_object(*this, kFields);
  out["family"] = "encoder_decoder";
  return out.dump();
}

EncoderDecoderConfig EncoderDecoderConfig::from_json(std::string_view text) {
  const json parsed = json_fields::parse_object(text, "the model config");
  if (const json family = parsed.value("family", json()); family != "encoder_decoder")
    throw FormatError(fmt::format("the model config is of family {}, not \"encoder_decoder\"",
                                  json_excerpt(family)));
  EncoderDecoderConfig config;
  json_fields::read_object(parsed, config, kFields, "the model config", "family");
  config.check();
  return config;
}

}  // namespace weft
