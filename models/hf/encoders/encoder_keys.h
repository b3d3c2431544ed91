// Keys of config.json that encoder families share, for ConfigReader and ConfigWriter. Internal to
// hf.
#pragma once

#include <string>

#include "weft/models/families/encoder_config.h"
#include "weft/models/hf/config_reader.h"
#include "weft/models/hf/config_writer.h"
#include "weft/models/hf/encoders/encoder_task.h"

namespace weft::hf {

/// Config keys that most encoders share.
template <class Config>
void encoder_keys(Config& config, EncoderConfig& c) {
  config.field("vocab_size", c.vocab)
      .field("hidden_size", c.width)
      .field("num_hidden_layers", c.layers)
      .field("num_attention_heads", c.heads)
      .field("intermediate_size", c.inner)
      .field("hidden_act", c.activation)
      .field("hidden_dropout_prob", c.hidden_dropout)
      .field("attention_probs_dropout_prob", c.attention_dropout)
      .field("max_position_embeddings", c.context)
      .field("type_vocab_size", c.token_types)
      .field("initializer_range", c.initializer_range)
      .field("layer_norm_eps", c.layer_norm_eps)
      .optional_id("pad_token_id", c.padding_id);
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
