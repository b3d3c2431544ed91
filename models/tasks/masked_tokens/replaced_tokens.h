// Replaced-token detection (ELECTRA, Clark et al. 2020): a small generator fills in masked tokens,
// and the encoder, as the discriminator, predicts for every token whether it was replaced. After
// pre-training, only the encoder is used.
#pragma once

#include "weft/models/families/encoder_heads.h"

namespace WEFT_API weft {

/// Samples an id for every row of logits [..., classes] with probability softmax(logits). Returns
/// i64 [...], computed as argmax(logits + Gumbel noise) (Gumbel 1954). No gradient flows through
/// the samples. `key`: see graph/functions/random.h.
Value sample_ids(Value logits, Value key, SourceLocation loc = SourceLocation::current());

/// Returns the config of the generator for an encoder of `config`. The generator has the same
/// number of layers and `share` times the width, rounded to whole heads of the same size (at least
/// one head). The width of its feed-forward layers is scaled in proportion. It shares the
/// embeddings of the encoder and projects them if the widths differ. Throws ArgumentError unless 0
/// < share <= 1, and for configs that do not allow sharing the embeddings.
EncoderConfig generator_config(const EncoderConfig& config, double share);

/// Encoder (discriminator) and generator with their heads. Within the scope, the parameters of the
/// discriminator are those of an Encoder and of "replaced_token". Those of the generator are
/// "generator" (without embeddings) and "generator.masked_lm". The decoder of this head is the
/// token embedding table that both networks share.
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
  Value ids;               // i32 [batch, seq]: the input with the samples of the generator
  /// i32 [batch, seq]: 1 if `ids` differs from the original token, else 0. A masked token is
  /// therefore 0 if the generator sampled the original.
  Value replaced;
  Value logits;  // [batch, seq]: > 0 means replaced
};
/// Replaces the masked tokens by samples of the generator, and detects the replacements. inputs.ids
/// i32 [batch, seq] contains the masks.
ReplacedTokens detect_replaced_tokens(const ReplacedTokenModel& model, const EncoderInputs& inputs,
                                      const MaskedTargets& hidden, Value key, bool training,
                                      SourceLocation loc = SourceLocation::current());

}  // namespace weft
