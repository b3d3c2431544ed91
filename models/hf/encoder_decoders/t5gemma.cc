// T5Gemma: an encoder and a decoder that are Gemma 2 models, with cross-attention.
#include <fmt/format.h>

#include <algorithm>

#include "weft/core/error.h"
#include "weft/models/hf/decoders/gpt_types.h"
#include "weft/models/hf/encoder_decoders/encoder_decoder_task.h"

namespace weft::hf {
namespace {

/// Returns Gemma 2: its keys and defaults describe each stack.
const GptType& gemma2() {
  const std::vector<GptType>& types = gpt_types();
  return *std::find_if(types.begin(), types.end(),
                       [](const GptType& type) { return type.name == "gemma2"; });
}

/// Returns a stack as a decoder, for reading and writing its keys.
GptConfig stack_of(const EncoderDecoderConfig& c, bool decoder) {
  const Seq2SeqStack stack = decoder ? c.decoder() : c.encoder();
  GptConfig g = gemma2().defaults;
  g.vocab = decoder ? c.target_vocab() : c.vocab;
  g.layers = stack.layers;
  g.heads = stack.heads;
  g.kv_heads = stack.kv_heads;
  g.head_dim = stack.head_size;
  g.width = stack.width;
  g.inner = stack.inner;
  g.context = c.context;
  g.activation = c.activation;
  g.attention_bias = c.attention_bias;
  g.layer_norm_eps = c.layer_norm_eps;
  g.rotary_base = stack.rotary_base;
  g.window = stack.window;
  g.window_layers = stack.window_layers;
  g.attention_scale = stack.attention_scale;
  g.attention_soft_cap = c.attention_soft_cap;
  g.logit_soft_cap = c.logit_soft_cap;
  g.attention_dropout = c.attention_dropout;
  g.initializer_range = c.initializer_range;
  g.tied_head = c.tied_head;
  g.padding_id = c.padding_id;
  return g;
}

/// The inverse of stack_of() for both stacks. Throws ArgumentError if they differ in a setting that
/// they must share.
void set_stacks(EncoderDecoderConfig& c, const GptConfig& encoder, const GptConfig& decoder) {
  const auto shared = [&](const char* key, auto GptConfig::*field) {
    if (encoder.*field == decoder.*field) return;
    throw ArgumentError(fmt::format(
        "config.json: encoder.{0} and decoder.{0} differ, which is not supported: both must have "
        "the same value",
        key));
  };
  shared("hidden_activation", &GptConfig::activation);
  shared("attention_bias", &GptConfig::attention_bias);
  shared("rms_norm_eps", &GptConfig::layer_norm_eps);
  shared("attn_logit_softcapping", &GptConfig::attention_soft_cap);
  shared("pad_token_id", &GptConfig::padding_id);
  for (const GptConfig* g : {&encoder, &decoder}) {
    if (g->rotary_scaling != RotaryScalingKind::none)
      throw ArgumentError(
          fmt::format("config.json: rope_type \"{}\" is not supported in T5Gemma; use default",
                      choice_name(g->rotary_scaling)));
  }
  c.vocab = encoder.vocab;
  c.decoder_vocab = decoder.vocab;
  c.encoder_layers = encoder.layers;
  c.decoder_layers = decoder.layers;
  c.encoder_heads = encoder.heads;
  c.decoder_heads = decoder.heads;
  c.encoder_kv_heads = encoder.key_heads();
  c.decoder_kv_heads = decoder.key_heads();
  c.head_size = encoder.head_dim;
  c.decoder_head_size = decoder.head_dim;
  c.width = encoder.width;
  c.decoder_width = decoder.width;
  c.encoder_inner = encoder.inner;
  c.decoder_inner = decoder.inner;
  c.context = decoder.context;
  c.activation = decoder.activation;
  c.attention_bias = decoder.attention_bias;
  c.layer_norm_eps = decoder.layer_norm_eps;
  c.rotary_base = encoder.rotary_base;
  c.decoder_rotary_base = decoder.rotary_base;
  c.encoder_window = encoder.window;
  c.decoder_window = decoder.window;
  c.encoder_window_layers = encoder.window_layers;
  c.decoder_window_layers = decoder.window_layers;
  c.encoder_attention_scale = encoder.attention_scale;
  c.decoder_attention_scale = decoder.attention_scale;
  c.attention_soft_cap = decoder.attention_soft_cap;
  c.logit_soft_cap = decoder.logit_soft_cap;
  c.initializer_range = decoder.initializer_range;
  c.padding_id = decoder.padding_id;
  c.frozen_padding = c.padding_id >= 0;
}

/// Reads the object of a stack.
void stack_keys(ConfigReader& config, const char* key, GptConfig& g, std::int64_t& start_id) {
  json object = config.section(key).object();
  // Transformers overwrites these settings with those of the whole model.
  for (const char* own : {"is_decoder", "cross_attention_hidden_size", "dropout_rate",
                          "attention_dropout", "classifier_dropout_rate", "tie_word_embeddings"})
    object.erase(own);
  ConfigReader section(object.dump(), "config.json", std::string(key) + '.');
  gemma2().keys.read(section, g);
  section.optional_id("bos_token_id", start_id).ignore_labels();
  section.finish();
}

void t5gemma_keys(ConfigReader& config, EncoderDecoderConfig& c) {
  GptConfig encoder = gemma2().defaults, decoder = encoder;
  stack_keys(config, "encoder", encoder, c.start_id);
  c.start_id = 2;
  stack_keys(config, config.find("decoder") == nullptr ? "encoder" : "decoder", decoder,
             c.start_id);
  set_stacks(c, encoder, decoder);
  config.field("initializer_range", c.initializer_range)
      .repeated("vocab_size", "encoder", c.vocab)
      .repeated("vocab_size", "decoder", c.decoder_vocab)
      .repeated("pad_token_id", "decoder", c.padding_id);
}
void t5gemma_keys(ConfigWriter& config, const EncoderDecoderConfig& c) {
  const auto stack = [&](const char* key, bool decoder) {
    ConfigWriter section;
    GptConfig g = stack_of(c, decoder);
    gemma2().keys.write(section, g);
    section.optional_id("bos_token_id", c.start_id);
    config.field(key, section.object());
  };
  stack("encoder", false);
  stack("decoder", true);
  config.field("initializer_range", c.initializer_range).field("vocab_size", c.target_vocab());
}

void t5gemma_names(NameMap& names, const EncoderDecoderConfig& c, const std::string& base) {
  for (const std::string stack : {"encoder", "decoder"}) {
    names.add(stack + ".tokens", base + stack + ".embed_tokens");
    names.add(stack + ".norm", base + stack + ".norm");
    ModuleNames parts;
    for (const auto& [ours, theirs] : ModuleNames{{"attention", "self_attn"},
                                                  {"cross_attention", "cross_attn"},
                                                  {"feed_forward", "feedforward"}}) {
      parts.emplace_back(ours + "_norm", fmt::format("pre_{}_layernorm", theirs));
      parts.emplace_back(ours + "_post_norm", fmt::format("post_{}_layernorm", theirs));
      if (ours == "feed_forward") continue;
      for (const auto& [a, b] : ModuleNames{
               {"query", "q_proj"}, {"key", "k_proj"}, {"value", "v_proj"}, {"out", "o_proj"}})
        parts.emplace_back(fmt::format("{}.{}", ours, a), fmt::format("{}.{}", theirs, b));
    }
    for (const std::string part : {"gate", "up", "down"})
      parts.emplace_back("feed_forward." + part, fmt::format("mlp.{}_proj", part));
    names.add_layers(stack == "decoder" ? c.decoder_layers : c.encoder_layers, stack + ".layers",
                     base + stack + ".layers", parts);
  }
}

}  // namespace

ModelTypes t5gemma_model_types() {
  EncoderDecoderType type{.name = "t5gemma",
                          .prefix = "T5Gemma",
                          .defaults = {},
                          .style = {.base = "model.",
                                    .head = "lm_head.out_proj",
                                    .has_encoder_class = true,
                                    .scores = "score.out_proj",
                                    .masks_padding_ids = true},
                          .keys =
                              [](auto& config, EncoderDecoderConfig& c) {
                                t5gemma_keys(config, c);
                                config.field("dropout_rate", c.dropout)
                                    .field("attention_dropout", c.attention_dropout)
                                    .field("tie_word_embeddings", c.tied_head)
                                    .ignore({"classifier_dropout_rate"});
                                c.activation_dropout = c.final_dropout = c.dropout;
                              },
                          .add_names = t5gemma_names};
  EncoderDecoderConfig& c = type.defaults;
  set_stacks(c, gemma2().defaults, gemma2().defaults);
  c.gated = c.rms_norm = c.norm_offset = c.scale_embedding = true;
  c.bias = false;
  c.norm = Seq2SeqNorm::sandwich;
  c.positions = Seq2SeqPositions::rotary;
  c.dropout = 0;
  c.start_id = 2;
  return encoder_decoder_model_types({type});
}

}  // namespace weft::hf
