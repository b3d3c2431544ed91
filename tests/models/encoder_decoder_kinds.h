// Small configurations of every supported encoder-decoder architecture.
#pragma once

#include <vector>

#include "weft/models/families/encoder_decoder_config.h"

namespace weft {

inline EncoderDecoderConfig shrink(EncoderDecoderConfig c) {
  c.vocab = 23;
  c.width = 12;
  c.head_size = c.head_size == 0 ? 0 : 5;
  c.encoder_layers = c.decoder_layers = 2;
  c.encoder_heads = c.decoder_heads = 3;
  c.encoder_inner = c.decoder_inner = 20;
  c.context = 32;
  c.relative_buckets = 8;
  c.relative_max_distance = 12;
  c.start_id = 0;
  c.padding_id = 1;
  // Large enough for clearly non-uniform predictions.
  if (c.initializer_range > 0) c.initializer_range = 0.3;
  return c;
}

/// Returns the options of T5Gemma, with stacks of different sizes.
inline EncoderDecoderConfig small_t5gemma() {
  EncoderDecoderConfig c = shrink({});
  c.decoder_vocab = c.vocab;
  c.decoder_width = 14;
  c.head_size = 4;
  c.decoder_head_size = 6;
  c.decoder_heads = 4;
  c.decoder_kv_heads = 2;
  c.encoder_kv_heads = 1;
  c.encoder_window = 3;
  c.decoder_window = 2;
  c.encoder_window_layers = c.decoder_window_layers = "10";
  c.decoder_attention_scale = 0.4;
  c.attention_soft_cap = 2;
  c.logit_soft_cap = 5;
  c.positions = Seq2SeqPositions::rotary;
  c.norm = Seq2SeqNorm::sandwich;
  c.bias = false;
  c.gated = c.rms_norm = c.norm_offset = true;
  return c;
}

/// Returns the options of PEGASUS-X.
inline EncoderDecoderConfig small_pegasus_x() {
  EncoderDecoderConfig c = shrink({});
  c.norm = Seq2SeqNorm::pre_norm;
  c.sinusoidal_endpoint = true;
  c.bias = false;
  c.mlp_bias = true;
  c.encoder_block = 4;
  c.global_tokens = 2;
  c.stagger_blocks = true;
  return c;
}

/// Returns a configuration of Switch Transformers.
inline EncoderDecoderConfig switch_transformer() {
  EncoderDecoderConfig c = shrink(EncoderDecoderConfig::t5());
  c.experts = 4;
  c.decoder_sparse_step = 1;
  c.router_bias = true;
  c.router_jitter = 0.1;
  c.balancing_weight = 0.01;
  c.router_z_weight = 0.001;
  return c;
}

/// Returns the options of M2M100.
inline EncoderDecoderConfig small_m2m100() {
  EncoderDecoderConfig c = shrink(EncoderDecoderConfig::bart());
  c.norm = Seq2SeqNorm::pre_norm;
  c.positions = Seq2SeqPositions::sinusoidal;
  c.sinusoidal_endpoint = c.positions_skip_padding = true;
  c.embedding_norm = c.head_bias = false;
  return c;
}

/// Returns configurations of the original Transformer, T5, BART, pre-norm BART, gated T5, the
/// Transformer with separate encoder and decoder vocabularies, LongT5, PEGASUS-X, T5Gemma, UMT5,
/// M2M100 and Switch Transformers.
inline std::vector<EncoderDecoderConfig> kinds() {
  EncoderDecoderConfig pre = shrink(EncoderDecoderConfig::bart());
  pre.norm = Seq2SeqNorm::pre_norm;
  EncoderDecoderConfig gated = shrink(EncoderDecoderConfig::t5());
  gated.gated = true;
  gated.tied_head = gated.scale_tied_head = false;
  EncoderDecoderConfig separate_vocabularies = shrink({});
  separate_vocabularies.decoder_vocab = 19;
  EncoderDecoderConfig local = shrink(EncoderDecoderConfig::t5());
  local.encoder_window = 3;
  EncoderDecoderConfig umt5 = gated;
  umt5.relative_bias_layers = true;
  return {shrink({}),
          shrink(EncoderDecoderConfig::t5()),
          shrink(EncoderDecoderConfig::bart()),
          pre,
          gated,
          separate_vocabularies,
          local,
          small_pegasus_x(),
          small_t5gemma(),
          umt5,
          small_m2m100(),
          switch_transformer()};
}

}  // namespace weft
