// BART, mBART, PEGASUS, PEGASUS-X, Marian, M2M100 (with NLLB) and Blenderbot.
#include <fmt/format.h>

#include "weft/core/error.h"
#include "weft/models/hf/encoder_decoders/encoder_decoder_task.h"

namespace weft::hf {
namespace {

/// Config keys that these model types share. `model` is the name of the model for error messages.
template <class Config>
void bart_keys(Config& config, EncoderDecoderConfig& c, std::string_view model) {
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
      // Hugging Face transformers also accepts the names of newer models.
      .repeated("hidden_size", "d_model", c.width)
      .repeated("num_attention_heads", "encoder_attention_heads", c.encoder_heads)
      // No class reads num_hidden_layers, which repeats encoder_layers. The logits have biases
      // regardless of add_bias_logits, and the first rows of position tables are fixed regardless
      // of extra_pos_embeddings. force_bos_token_to_be_generated affects generation only.
      .ignore({"num_hidden_layers", "add_bias_logits", "extra_pos_embeddings",
               "force_bos_token_to_be_generated", "save_step"});
  // These keys are from the first version of the format. Published models always have these values.
  const bool pre_norm = c.norm == Seq2SeqNorm::pre_norm;
  const bool sinusoidal = c.positions == Seq2SeqPositions::sinusoidal;
  const auto fixed = [&](const char* key, bool value, std::string_view why) {
    config.fixed(key, value, fmt::format("{} {}", model, why));
  };
  fixed("normalize_before", pre_norm, pre_norm ? "is a pre-norm model" : "is a post-norm model");
  fixed("add_final_layer_norm", pre_norm,
        pre_norm ? "has a final layer norm" : "has no final layer norm");
  fixed("normalize_embedding", c.embedding_norm,
        c.embedding_norm ? "has a layer norm after the embeddings"
                         : "has no layer norm after the embeddings");
  fixed("static_position_embeddings", sinusoidal,
        sinusoidal ? "has sinusoidal positions" : "has learned position embeddings");
  // If there is a padding id, its row of the embedding tables is frozen (PyTorch's padding_idx).
  c.frozen_padding = c.padding_id >= 0;
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

}  // namespace

void bart_names(NameMap& names, const EncoderDecoderConfig& c, const std::string& base) {
  names.add("tokens", base + "shared");
  for (const std::string stack : {"encoder", "decoder"}) {
    names.add(stack + ".tokens", base + stack + ".embed_tokens");
    names.add(stack + ".positions", base + stack + ".embed_positions");
    names.add(stack + ".embedding_norm", base + stack + ".layernorm_embedding");
    names.add(stack + ".norm", base + stack + ".layer_norm");
    names.add(stack + ".global_tokens", base + stack + ".embed_global");
    ModuleNames parts = {{"attention_norm", "self_attn_layer_norm"},
                         {"cross_attention_norm", "encoder_attn_layer_norm"},
                         {"feed_forward.up", "fc1"},
                         {"feed_forward.down", "fc2"},
                         {"feed_forward_norm", "final_layer_norm"},
                         {"global_norm", "global_self_attn_layer_norm"}};
    for (const auto& [a, b] : ModuleNames{
             {"query", "q_proj"}, {"key", "k_proj"}, {"value", "v_proj"}, {"out", "out_proj"}}) {
      parts.emplace_back("attention." + a, "self_attn." + b);
      parts.emplace_back("cross_attention." + a, "encoder_attn." + b);
    }
    names.add_layers(stack == "decoder" ? c.decoder_layers : c.encoder_layers, stack + ".layers",
                     base + stack + ".layers", parts);
  }
}

namespace {

/// Returns BART's options with the changes of another model type.
template <class Change>
EncoderDecoderConfig bart_with(const Change& change) {
  EncoderDecoderConfig c = EncoderDecoderConfig::bart();
  change(c);
  return c;
}

// Sinusoidal positions are computed, so position tables in a file are ignored.
const std::set<std::string> kPositionTables = {
    "encoder.embed_positions.weight", "decoder.embed_positions.weight",
    "encoder.embed_positions.weights", "decoder.embed_positions.weights"};

}  // namespace

ModelTypes bart_model_types() {
  return encoder_decoder_model_types({
      {.name = "bart",
       .prefix = "Bart",
       .defaults = EncoderDecoderConfig::bart(),
       .style =
           {.base = "model.", .has_classifiers = true, .default_labels = 3, .decodes_inputs = true},
       .keys = [](auto& config, EncoderDecoderConfig& c) { bart_keys(config, c, "BART"); },
       .add_names = bart_names},
      {.name = "mbart",
       .prefix = "MBart",
       .defaults = bart_with([](EncoderDecoderConfig& c) {
         c.norm = Seq2SeqNorm::pre_norm;
         c.decoder_start = DecoderStart::last_label;
       }),
       .style = {.base = "model.", .has_classifiers = true, .decodes_inputs = true},
       .keys = [](auto& config, EncoderDecoderConfig& c) { bart_keys(config, c, "mBART"); },
       .add_names = bart_names},
      {.name = "pegasus",
       .prefix = "Pegasus",
       .defaults = bart_with([](EncoderDecoderConfig& c) {
         c.norm = Seq2SeqNorm::pre_norm;
         c.positions = Seq2SeqPositions::sinusoidal;
         c.embedding_norm = false;
         c.start_id = c.padding_id = 0;
       }),
       .style = {.base = "model.", .unused_buffers = kPositionTables},
       .keys = [](auto& config, EncoderDecoderConfig& c) { bart_keys(config, c, "PEGASUS"); },
       .add_names = bart_names},
      {.name = "pegasus_x",
       .prefix = "PegasusX",
       .defaults = bart_with([](EncoderDecoderConfig& c) {
         c.vocab = 96103;
         c.encoder_layers = c.decoder_layers = 16;
         c.context = 16384;
         c.norm = Seq2SeqNorm::pre_norm;
         c.positions = Seq2SeqPositions::sinusoidal;
         c.sinusoidal_endpoint = true;
         c.bias = false;
         c.mlp_bias = true;
         c.embedding_norm = c.head_bias = false;
         c.scale_embedding = c.stagger_blocks = true;
         c.encoder_block = 512;
         c.global_tokens = 32;
         c.start_id = c.padding_id = 0;
       }),
       .style = {.base = "model.", .unused_buffers = kPositionTables},
       .keys =
           [](auto& config, EncoderDecoderConfig& c) {
             bart_keys(config, c, "PEGASUS-X");
             config.field("block_size", c.encoder_block)
                 .field("num_global_tokens", c.global_tokens)
                 .field("stagger_local_blocks", c.stagger_blocks);
           },
       .add_names = bart_names},
      {.name = "marian",
       .prefix = "Marian",
       .defaults = bart_with([](EncoderDecoderConfig& c) {
         c.vocab = 58101;
         c.positions = Seq2SeqPositions::sinusoidal;
         c.embedding_norm = false;
         c.start_id = c.padding_id = 58100;
       }),
       .style = {.lm_class = "MTModel", .base = "model.", .unused_buffers = kPositionTables},
       .keys =
           [](auto& config, EncoderDecoderConfig& c) {
             bart_keys(config, c, "Marian");
             vocabulary_keys(config, c);
           },
       .add_names = bart_names},
      {.name = "m2m_100",
       .prefix = "M2M100",
       .defaults = bart_with([](EncoderDecoderConfig& c) {
         c.vocab = 128112;
         c.activation = Activation::relu;
         c.norm = Seq2SeqNorm::pre_norm;
         c.positions = Seq2SeqPositions::sinusoidal;
         c.sinusoidal_endpoint = c.positions_skip_padding = true;
         c.embedding_norm = c.head_bias = false;
         c.scale_embedding = true;
         c.attention_dropout = 0.1;
         c.encoder_layer_dropout = c.decoder_layer_dropout = 0.05;
       }),
       .style = {.base = "model.", .unused_buffers = kPositionTables},
       .keys = [](auto& config, EncoderDecoderConfig& c) { bart_keys(config, c, "M2M100"); },
       .add_names = bart_names},
      {.name = "blenderbot",
       .prefix = "Blenderbot",
       .defaults = bart_with([](EncoderDecoderConfig& c) {
         c.vocab = 8008;
         c.width = 2560;
         c.encoder_layers = 2;
         c.decoder_layers = 24;
         c.encoder_heads = c.decoder_heads = 32;
         c.encoder_inner = c.decoder_inner = 10240;
         c.norm = Seq2SeqNorm::pre_norm;
         c.embedding_norm = false;
         c.context = 128;
         c.position_offset = 0;
         c.start_id = 1;
         c.padding_id = 0;
       }),
       .style = {.base = "model."},
       .keys =
           [](auto& config, EncoderDecoderConfig& c) {
             bart_keys(config, c, "Blenderbot");
             // Keys of the first version of the format, which no class reads.
             config.ignore({"do_blenderbot_90_layernorm", "extra_layer_norm", "layernorm_variant"});
           },
       .add_names = bart_names},
  });
}

}  // namespace weft::hf
