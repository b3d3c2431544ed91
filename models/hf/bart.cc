// BART, mBART, PEGASUS and Marian.
#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/hf/encoder_decoder_task.h"

namespace weft::hf {
namespace {

/// Config keys that these families share.
template <class Config>
void bart_keys(Config& config, EncoderDecoderConfig& c) {
  config.field("vocab_size", c.vocab)
      .field("d_model", c.width)
      .field("encoder_layers", c.encoder_layers)
      .field("decoder_layers", c.decoder_layers)
      .field("encoder_attention_heads", c.encoder_heads)
      .field("decoder_attention_heads", c.decoder_heads)
      .field("encoder_ffn_dim", c.encoder_inner)
      .field("decoder_ffn_dim", c.decoder_inner)
      .field("activation_function", c.activation)
      .field("max_position_embeddings", c.context)
      .field("scale_embedding", c.scale_embedding)
      .field("dropout", c.dropout)
      .field("attention_dropout", c.attention_dropout)
      .field("activation_dropout", c.activation_dropout)
      .field("encoder_layerdrop", c.encoder_layer_dropout)
      .field("decoder_layerdrop", c.decoder_layer_dropout)
      .field("init_std", c.initializer_range)
      .field("tie_word_embeddings", c.tied_head)
      .optional_id("decoder_start_token_id", c.start_id)
      .optional_id("pad_token_id", c.padding_id)
      .fixed_and_written("is_encoder_decoder", true,
                         "a decoder without its encoder is not supported")
      // num_hidden_layers repeats encoder_layers. classifier_dropout has no effect outside
      // training. The logits have biases regardless of add_bias_logits.
      // force_bos_token_to_be_generated affects generation only.
      .ignore({"num_hidden_layers", "classifier_dropout", "classif_dropout", "add_bias_logits",
               "force_bos_token_to_be_generated", "save_step"});
}

/// In Marian models, the source and target languages may have separate embedding tables.
void vocabulary_keys(ConfigReader& config, EncoderDecoderConfig& c) {
  bool shared = true;
  std::int64_t decoder_vocab = c.vocab;
  config.field("share_encoder_decoder_embeddings", shared)
      .field("decoder_vocab_size", decoder_vocab);
  if (!shared) c.decoder_vocab = decoder_vocab;
}
void vocabulary_keys(ConfigWriter& config, const EncoderDecoderConfig& c) {
  config.field("share_encoder_decoder_embeddings", c.shared_tokens())
      .field("decoder_vocab_size", c.target_vocab());
}

void read_bart(ConfigReader& config, EncoderDecoderConfig& c) {
  bart_keys(config, c);
  // If there is a padding id, its row of the embedding tables is frozen (PyTorch's padding_idx).
  c.frozen_padding = c.padding_id >= 0;
}

ModuleNames bart_names(const EncoderDecoderConfig& c) {
  ModuleNames names = {{"tokens", "shared"}};
  for (const std::string stack : {"encoder", "decoder"}) {
    const bool decoder = stack == "decoder";
    names.emplace_back(stack + ".tokens", stack + ".embed_tokens");
    names.emplace_back(stack + ".positions", stack + ".embed_positions");
    names.emplace_back(stack + ".embedding_norm", stack + ".layernorm_embedding");
    names.emplace_back(stack + ".norm", stack + ".layer_norm");
    ModuleNames parts = {{"attention_norm", "self_attn_layer_norm"},
                         {"cross_attention_norm", "encoder_attn_layer_norm"},
                         {"feed_forward.up", "fc1"},
                         {"feed_forward.down", "fc2"},
                         {"feed_forward_norm", "final_layer_norm"}};
    for (const auto& [a, b] : ModuleNames{
             {"query", "q_proj"}, {"key", "k_proj"}, {"value", "v_proj"}, {"out", "out_proj"}}) {
      parts.emplace_back("attention." + a, "self_attn." + b);
      parts.emplace_back("cross_attention." + a, "encoder_attn." + b);
    }
    add_stack(names, stack, decoder ? c.decoder_layers : c.encoder_layers, stack + ".layers",
              parts);
  }
  return names;
}

Model build(Request& request, const EncoderDecoderConfig& c, const std::string& lm_class,
            bool decodes_inputs) {
  EncoderDecoderStyle style{.lm_class = lm_class,
                            .base = "model.",
                            .modules = bart_names(c),
                            .has_classifiers = decodes_inputs,
                            .default_labels = request.config.model_type() == "bart" ? 3 : 2,
                            .decodes_inputs = decodes_inputs};
  if (c.positions == Seq2SeqPositions::sinusoidal) {
    // Sinusoidal positions are computed, so position tables in a file are ignored.
    style.unused_buffers.insert("encoder.embed_positions.weight");
    style.unused_buffers.insert("decoder.embed_positions.weight");
  }
  return build_encoder_decoder(request, c, style);
}

}  // namespace

Model build_bart(Request& request) {
  EncoderDecoderConfig c = EncoderDecoderConfig::bart();
  read_bart(request.config, c);
  // Config keys from the first version of the format. Published models always have these values.
  request.config.fixed("normalize_before", false, "BART is a post-norm model")
      .fixed("add_final_layer_norm", false, "BART has no final layer norm")
      .fixed("normalize_embedding", true, "BART has a layer norm after the embeddings")
      .fixed("static_position_embeddings", false, "BART has learned position embeddings")
      .fixed("extra_pos_embeddings", 2, "BART's position table starts with 2 extra rows");
  return build(request, c, "ForConditionalGeneration", true);
}

Model build_mbart(Request& request) {
  EncoderDecoderConfig c = EncoderDecoderConfig::bart();
  c.norm = Seq2SeqNorm::pre_norm;
  c.decoder_start = DecoderStart::last_label;
  read_bart(request.config, c);
  request.config.fixed("normalize_before", true, "mBART is a pre-norm model")
      .fixed("add_final_layer_norm", true, "mBART has a final layer norm")
      .fixed("normalize_embedding", true, "mBART has a layer norm after the embeddings")
      .fixed("static_position_embeddings", false, "mBART has learned position embeddings")
      .fixed("extra_pos_embeddings", 2, "mBART's position table starts with 2 extra rows");
  return build(request, c, "ForConditionalGeneration", true);
}

Model build_pegasus(Request& request) {
  EncoderDecoderConfig c = EncoderDecoderConfig::bart();
  c.norm = Seq2SeqNorm::pre_norm;
  c.positions = Seq2SeqPositions::sinusoidal;
  c.embedding_norm = false;
  c.start_id = c.padding_id = 0;
  read_bart(request.config, c);
  request.config.fixed("normalize_before", true, "PEGASUS is a pre-norm model")
      .fixed("add_final_layer_norm", true, "PEGASUS has a final layer norm")
      .fixed("normalize_embedding", false, "PEGASUS has no layer norm after the embeddings")
      .fixed("static_position_embeddings", true, "PEGASUS has sinusoidal positions")
      .fixed("extra_pos_embeddings", 1, "PEGASUS has sinusoidal positions");
  return build(request, c, "ForConditionalGeneration", false);
}

Model build_marian(Request& request) {
  EncoderDecoderConfig c = EncoderDecoderConfig::bart();
  c.vocab = 58101;
  c.positions = Seq2SeqPositions::sinusoidal;
  c.embedding_norm = false;
  c.start_id = c.padding_id = 58100;
  read_bart(request.config, c);
  vocabulary_keys(request.config, c);
  request.config.fixed("normalize_before", false, "Marian is a post-norm model")
      .fixed("add_final_layer_norm", false, "Marian has no final layer norm")
      .fixed("normalize_embedding", false, "Marian has no layer norm after the embeddings")
      .fixed("static_position_embeddings", true, "Marian has sinusoidal positions");
  return build(request, c, "MTModel", false);
}

void write_bart(ConfigWriter& config, const std::string& type, const FamilyConfig& family,
                const HeadFacts&) {
  EncoderDecoderConfig c = std::get<EncoderDecoderConfig>(family);
  bart_keys(config, c);
  if (type == "marian") vocabulary_keys(config, c);
}

}  // namespace weft::hf
