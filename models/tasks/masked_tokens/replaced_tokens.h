// Replaced-token detection (ELECTRA, Clark et al. 2020): a small generator fills in masked tokens,
// and the encoder, as the discriminator, predicts for every token whether it was replaced. After
// pre-training, only the encoder is used.
#pragma once

#include "weft/models/families/encoder_heads.h"

namespace WEFT_API weft {

/// Samples an id for every row of logits [..., classes] with probability softmax(logits). Returns
/// i64 [...], computed as argmax(logits + Gumbel noise) (Gumbel 1954). No gradient flows through
/// the samples. For `key`, see graph/functions/random/random.h.
Value sample_ids(Value logits, Value key, SourceLocation loc = SourceLocation::current());

/// Returns the config of the generator for an encoder with `config`. The generator has the same
/// number of layers. Its width is `share` times the encoder width, rounded to a multiple of the
/// head size (at least one head), and the feed-forward width is scaled in proportion. The generator
/// shares the embeddings of the encoder and projects them if the widths differ. Throws
/// ArgumentError unless 0 < share <= 1, and if the config does not support shared embeddings.
EncoderConfig generator_config(const EncoderConfig& config, double share);

/// An encoder (the discriminator) and a generator, with their heads. Within the scope, the
/// discriminator parameters are those of an Encoder and those of the head "replaced_token". The
/// generator parameters are in "generator" (without embeddings) and "generator.masked_lm". The
/// output layer of the latter is the token embedding table, which both networks share.
struct ReplacedTokenModel {
  Encoder encoder;
  ReplacedTokenHead head;
  Encoder generator;
  MaskedLmHead generator_head;
};
ReplacedTokenModel make_replaced_token_model(const Scope& scope, const EncoderConfig& config,
                                             double generator_share,
                                             SourceLocation loc = SourceLocation::current());

/// Positions and original ids of the masked tokens.
struct MaskedTargets {
  Value picks;   // i32 [picks]: indices into the flattened ids [batch * seq]
  Value labels;  // i32 [picks]: the original ids, or -100 for picks that are ignored
};
struct ReplacedTokens {
  Value generator_logits;  // [picks, vocab]
  Value ids;               // i32 [batch, seq]: the input with masks replaced by samples
  /// i32 [batch, seq]: 1 if `ids` differs from the original token, otherwise 0. The value is
  /// therefore also 0 at a masked position if the generator sampled the original token.
  Value replaced;
  Value logits;  // [batch, seq]; > 0 predicts "replaced"
};
/// Replaces the masked tokens by samples from the generator, and detects the replacements.
/// inputs.ids i32 [batch, seq] contains the masks.
ReplacedTokens detect_replaced_tokens(const ReplacedTokenModel& model, const EncoderInputs& inputs,
                                      const MaskedTargets& hidden, Value key, Mode mode,
                                      SourceLocation loc = SourceLocation::current());

}  // namespace weft
