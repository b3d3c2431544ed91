// Keys of config.json that encoder families share, for ConfigReader and ConfigWriter. Internal to
// hf.
#pragma once

#include <string>

#include "weft/models/families/encoder_config.h"
#include "weft/models/families/rotary_fields.h"
#include "weft/models/hf/config_reader.h"
#include "weft/models/hf/config_writer.h"
#include "weft/models/hf/decoders/keys.h"
#include "weft/models/hf/encoders/encoder_task.h"

namespace weft::hf {

/// Keys that a type lacks.
struct CommonKeys {
  bool token_types = true, padding = true;
};

/// Config keys that most encoders share.
template <class Config>
void encoder_keys(Config& config, EncoderConfig& c, const CommonKeys& has = {}) {
  config.field("vocab_size", c.vocab)
      .field("hidden_size", c.width)
      .field("num_hidden_layers", c.layers)
      .field("num_attention_heads", c.heads)
      .field("intermediate_size", c.inner)
      .field("hidden_act", c.activation)
      .field("hidden_dropout_prob", c.hidden_dropout)
      .field("attention_probs_dropout_prob", c.attention_dropout)
      .field("max_position_embeddings", c.context)
      .field("initializer_range", c.initializer_range)
      .field("layer_norm_eps", c.layer_norm_eps);
  if (has.token_types) config.field("type_vocab_size", c.token_types);
  if (has.padding) config.optional_id("pad_token_id", c.padding_id);
}

/// Throws ArgumentError if sizes that the keys below are computed from are outside their limits,
/// which EncoderConfig::check() would find too late.
void decoder_sizes(const ConfigReader& config, const EncoderConfig& c);
inline void decoder_sizes(const ConfigWriter&, const EncoderConfig&) {}

/// Applies keys of decoders, for example rotary_keys(), to the fields that both families have:
/// `keys` is called with the config and a GptConfig.
template <class Config, class DecoderKeys>
void decoder_part(Config& config, EncoderConfig& c, const DecoderKeys& keys) {
  GptConfig g;
  g.positions = GptPositions::rotary;
  g.layers = c.layers;
  g.heads = c.heads;
  g.width = c.width;
  g.head_dim = c.head_size;
  g.context = c.context;
  g.rotary_base = c.rotary_base;
  g.rotary_window_base = c.rotary_window_base;
  g.rotary_share = c.rotary_share;
  g.window = c.window;
  g.window_layers = c.window_layers;
  set_rotary_scaling(g, rotary_scaling(c));
  keys(config, g);
  c.rotary_base = g.rotary_base;
  c.rotary_window_base = g.rotary_window_base;
  c.rotary_share = g.rotary_share;
  c.window = g.window;
  c.window_layers = g.window_layers;
  set_rotary_scaling(c, rotary_scaling(g));
}
/// Reads or writes the keys of rotary positions.
template <class Config>
void encoder_rotary_keys(Config& config, EncoderConfig& c) {
  decoder_sizes(config, c);
  decoder_part(config, c, [](auto& keys, GptConfig& g) { rotary_keys(keys, g); });
}

/// Sets c.positions from a value of position_embedding_type. Throws ArgumentError if the value is
/// not supported.
void read_positions(const std::string& name, EncoderConfig& c);
/// Reads or writes the key position_embedding_type.
template <class Config>
void position_key(Config& config, EncoderConfig& c) {
  config.converted(
      "position_embedding_type",
      [&](const json& value) {
        std::string name;
        read_json(value, "position_embedding_type", name);
        read_positions(name, c);
      },
      [&]() -> json { return std::string(choice_name(c.positions)); });
}

}  // namespace weft::hf
