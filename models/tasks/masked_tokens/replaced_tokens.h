// Replaced-token detection (ELECTRA, Clark et al. 2020): a small generator fills in hidden tokens,
// and the encoder, which is what is kept, says of every token whether it is the original one.
#pragma once

#include "weft/models/families/encoder_heads.h"

namespace WEFT_API weft {

/// An id for every row of logits [..., classes], drawn with probability softmax(logits): i64 [...].
/// Drawn as argmax(logits + Gumbel noise) (Gumbel 1954); no gradient goes through it. `key` as in
/// graph/functions/random.h.
Value sample_ids(Value logits, Value key, SourceLocation loc = SourceLocation::current());

/// The generator beside an encoder of `config`: as many layers of `share` times the width (whole
/// heads of the same size, at least one) and as wide a feed-forward in proportion; its embeddings
/// are the encoder's, projected where the widths differ. Throws ArgumentError unless 0 < share <=
/// 1, and for configs whose embeddings cannot be shared.
EncoderConfig generator_config(const EncoderConfig& config, double share);

/// Both networks. Below the scope, the encoder's parameters are those of an Encoder and
/// "replaced_token"; the generator's are "generator" (without embeddings) and
/// "generator.masked_lm", whose decoder is the table of tokens of both.
struct ReplacedTokenModel {
  Encoder encoder;
  ReplacedTokenHead head;
  Encoder generator;
  MaskedLmHead generator_head;
};
ReplacedTokenModel make_replaced_token_model(const Scope& scope, const EncoderConfig& config,
                                             double generator_share,
                                             SourceLocation loc = SourceLocation::current());

/// What the hidden tokens are.
struct HiddenTokens {
  Value picks;   // i32 [picks]: places in the flattened [batch * seq] ids
  Value labels;  // i32 [picks]: what was there; -100 where the pick does not count
};
struct ReplacedTokens {
  Value generator_logits;  // [picks, vocab]
  Value ids;               // i32 [batch, seq]: the input with what the generator drew
  /// i32 [batch, seq]: 1 where `ids` is not the original; 0 where the generator drew that.
  Value replaced;
  Value logits;  // [batch, seq]; positive: replaced
};
/// inputs.ids i32 [batch, seq], the hidden ones masked.
ReplacedTokens detect_replaced_tokens(const ReplacedTokenModel& model, const EncoderInputs& inputs,
                                      const HiddenTokens& hidden, Value key, bool training,
                                      SourceLocation loc = SourceLocation::current());

}  // namespace weft
