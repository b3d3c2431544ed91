// Task heads for encoders of the BERT family, and their losses.
#pragma once

#include "weft/graph/functions/loss.h"
#include "weft/models/families/encoder.h"

namespace WEFT_API weft {

/// Returns a linear layer from the width of the encoder to `outputs`, initialised like the encoder.
Linear make_head(const Scope& scope, const EncoderConfig& config, std::int64_t outputs,
                 SourceLocation loc = SourceLocation::current());

/// The hidden layer of classifiers: maps tokens to norm(act(dense(h))) and pools them as
/// EncoderConfig::head_pooling specifies. With BERT's settings, it is BERT's pooler
/// act(dense(h of the first token)). Parameters: "<scope>.{weight,bias}" [width, width] and, with
/// EncoderConfig::head_norm, "<scope>.norm.{weight,bias}".
struct Pooler {
  Linear dense;
  Activation activation;
  std::optional<Norm> norm = {};
  HeadPooling pooling = HeadPooling::first;

  /// Maps h [batch, seq, width] to [batch, width]. `mask` [batch, seq] is 1 for tokens; if it is
  /// undefined, all are tokens.
  Value operator()(Value h, Value mask = {}, SourceLocation loc = SourceLocation::current()) const;
  /// Maps every h [..., width] to norm(act(dense(h))), without pooling.
  Value hidden(Value h) const;
};
Pooler make_pooler(const Scope& scope, const EncoderConfig& config, Activation activation,
                   SourceLocation loc = SourceLocation::current());

/// Scores of tokens: a linear layer, with EncoderConfig::token_head after the hidden layer of a
/// Pooler.
struct TokenScores {
  std::optional<Pooler> pooler;
  Linear out;

  /// Maps h [batch, seq, width] to [batch, seq, outputs].
  Value operator()(Value h, SourceLocation loc = SourceLocation::current()) const;
};
/// Declares "<scope>.<name>" and, with EncoderConfig::token_head, "<scope>.pooler".
TokenScores make_token_scores(const Scope& scope, const std::string& name,
                              const EncoderConfig& config, std::int64_t outputs,
                              SourceLocation loc = SourceLocation::current());

/// Returns the mean of h [batch, seq, width] over the tokens of every row, [batch, width]. `mask`
/// [batch, seq] is 1 for tokens, 0 for padding.
Value mean_of_tokens(Value h, Value mask, SourceLocation loc = SourceLocation::current());
/// As above, but returns the maximum of every feature over the tokens of a row.
Value max_of_tokens(Value h, Value mask, SourceLocation loc = SourceLocation::current());

/// Returns the global attention mask, bool [batch, seq], with which Longformer classifies texts:
/// the first token has global attention. Returns an undefined value for models without global
/// attention.
Value first_token_attention(const EncoderConfig& config, Value ids);
/// As above, for answers to questions: the tokens before the first EncoderConfig::separator_id,
/// which ends the question, have global attention.
Value question_attention(const EncoderConfig& config, Value ids);

struct MaskedLmOptions {
  Activation activation = Activation::gelu_erf;
  double layer_norm_eps = 1e-12;

  friend bool operator==(const MaskedLmOptions&, const MaskedLmOptions&) = default;
};
/// Returns the options of new heads of an encoder.
MaskedLmOptions masked_lm_options(const EncoderConfig& config);

/// Masked language modelling head: norm(act(dense(h))) decoder^T + bias. Parameters:
/// "<scope>.dense.{weight,bias}" [embedding width, width] and "<scope>.norm.{weight,bias}" (unless
/// EncoderConfig::head_transform is false), "<scope>.bias" [vocab] (if decoder_bias) and
/// "<scope>.decoder.weight" [vocab, embedding width]. With tied_head, "<scope>.decoder.weight" is
/// an alias of the token embedding table. "<scope>.decoder.bias" is an alias of the bias.
struct MaskedLmHead {
  Scope scope;
  std::optional<Linear> dense;
  Activation activation;
  std::optional<Norm> norm;
  Variable decoder, bias;  // the bias may be undefined

  /// Maps h [..., width] to logits [..., vocab].
  Value operator()(Value h, SourceLocation loc = SourceLocation::current()) const;
};
/// Throws ArgumentError if there is no hidden layer although the widths of the embeddings and of
/// the layers differ.
MaskedLmHead make_masked_lm_head(const Scope& scope, const Encoder& encoder,
                                 const MaskedLmOptions& options,
                                 SourceLocation loc = SourceLocation::current());

/// Replaced token detection head (ELECTRA): classifies each token as original or replaced.
/// Parameters: "<scope>.dense" [width, width] and "<scope>.out" [1, width].
struct ReplacedTokenHead {
  Linear dense;
  Activation activation;
  Linear out;

  /// Maps h [batch, seq, width] to logits [batch, seq]; a positive logit means replaced.
  Value operator()(Value h, SourceLocation loc = SourceLocation::current()) const;
};
ReplacedTokenHead make_replaced_token_head(const Scope& scope, const EncoderConfig& config,
                                           SourceLocation loc = SourceLocation::current());

/// Logits of the first and the last position of an answer.
struct SpanLogits {
  Value start, end;  // [batch, seq]
};
/// Splits logits [batch, seq, 2] into start logits and end logits.
SpanLogits split_span(Value logits);

// -- Losses --------------------------------------------------------------------------------------
// Labels are i32 or i64 unless noted otherwise; labels of -100 are ignored. With
// Reduction::shard_mean, a mean over a batch becomes a mean over all of its shards.

/// Returns the mean cross-entropy of logits [..., classes] against labels [...].
Value label_loss(Value logits, Value labels, Reduction reduction = Reduction::mean,
                 SourceLocation loc = SourceLocation::current());

/// Returns the mean of the cross-entropies of `start` and `end` over all positions. Both labels are
/// [batch]. A position beyond the sequence is ignored, because the answer was truncated; a negative
/// position counts as 0.
Value span_loss(const SpanLogits& logits, Value start, Value end,
                Reduction reduction = Reduction::mean,
                SourceLocation loc = SourceLocation::current());

/// Returns the mean binary cross-entropy over the tokens whose mask [batch, seq] is 1, or over all
/// tokens if `mask` is undefined. labels [batch, seq] may have any dtype; 1 means replaced. Throws
/// ArgumentError under the same conditions as batch_sum().
Value replaced_token_loss(Value logits, Value labels, Value mask,
                          Reduction reduction = Reduction::mean,
                          SourceLocation loc = SourceLocation::current());

/// Type of the labels of a sequence.
enum class Problem { regression, single_label, multi_label };
/// Returns the loss of logits [batch, labels]. regression: mean squared error against
/// floating-point labels [batch] or [batch, labels]; single_label: cross-entropy against classes
/// [batch]; multi_label: binary cross-entropy against floating-point labels [batch, labels].
Value sequence_loss(Problem problem, Value logits, Value labels,
                    SourceLocation loc = SourceLocation::current());

}  // namespace weft
