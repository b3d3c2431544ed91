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

/// Returns configurations of the original Transformer, T5, BART, pre-norm BART, gated T5, and the
/// Transformer with separate encoder and decoder vocabularies.
inline std::vector<EncoderDecoderConfig> kinds() {
  EncoderDecoderConfig pre = shrink(EncoderDecoderConfig::bart());
  pre.norm = Seq2SeqNorm::pre_norm;
  EncoderDecoderConfig gated = shrink(EncoderDecoderConfig::t5());
  gated.gated = true;
  gated.tied_head = gated.scale_tied_head = false;
  EncoderDecoderConfig separate_vocabularies = shrink({});
  separate_vocabularies.decoder_vocab = 19;
  return {shrink({}),
          shrink(EncoderDecoderConfig::t5()),
          shrink(EncoderDecoderConfig::bart()),
          pre,
          gated,
          separate_vocabularies};
}

}  // namespace weft
