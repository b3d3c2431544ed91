// Whisper (Radford et al. 2022).
#include "weft/models/hf/encoder_decoders/encoder_decoder_task.h"

namespace weft::hf {
namespace {

template <class Config>
void whisper_keys(Config& config, EncoderDecoderConfig& c) {
  config.field("vocab_size", c.vocab)
      .field("num_mel_bins", c.mel_bins)
      .field("d_model", c.width)
      .field("encoder_layers", c.encoder_layers)
      .field("decoder_layers", c.decoder_layers)
      .field("encoder_attention_heads", c.encoder_heads)
      .field("decoder_attention_heads", c.decoder_heads)
      .field("encoder_ffn_dim", c.encoder_inner)
      .field("decoder_ffn_dim", c.decoder_inner)
      .field("activation_function", c.activation)
      .field("max_source_positions", c.source_context)
      .field("max_target_positions", c.context)
      .field("dropout", c.dropout)
      .field("attention_dropout", c.attention_dropout)
      .field("activation_dropout", c.activation_dropout)
      .field("encoder_layerdrop", c.encoder_layer_dropout)
      .field("decoder_layerdrop", c.decoder_layer_dropout)
      .field("init_std", c.initializer_range)
      .field("tie_word_embeddings", c.tied_head)
      .optional_id("decoder_start_token_id", c.start_id)
      .optional_id("pad_token_id", c.padding_id)
      .repeated("hidden_size", "d_model", c.width)
      .repeated("num_attention_heads", "encoder_attention_heads", c.encoder_heads)
      // No class scales embeddings or reads num_hidden_layers and max_length. The other keys belong
      // to word timestamps, to SpecAugment in training (weft train speech has options for it) and
      // to the audio classifier, which reads its keys itself.
      .ignore({"scale_embedding", "num_hidden_layers", "median_filter_width", "apply_spec_augment",
               "mask_time_prob", "mask_time_length", "mask_time_min_masks", "mask_feature_prob",
               "mask_feature_length", "mask_feature_min_masks", "classifier_proj_size",
               "use_weighted_layer_sum"});
  // The row of the padding id in the token table is frozen (PyTorch's padding_idx).
  c.frozen_padding = c.padding_id >= 0;
}

void whisper_names(NameMap& names, const EncoderDecoderConfig& c, const std::string& base) {
  bart_names(names, c, base);
  for (const char* conv : {"conv1", "conv2"})
    names.add(std::string("encoder.") + conv, base + "encoder." + conv);
}

}  // namespace

ModelTypes whisper_model_types() {
  return encoder_decoder_model_types(
      {{.name = "whisper",
        .prefix = "Whisper",
        .defaults = EncoderDecoderConfig::whisper(),
        .style = {.base = "model.", .head = "proj_out", .has_audio_classifier = true},
        .keys = [](auto& config, EncoderDecoderConfig& c) { whisper_keys(config, c); },
        .add_names = whisper_names}});
}

}  // namespace weft::hf
