// What stands on an encoder of the BERT family: heads for its tasks, and their losses.
#pragma once

#include "weft/graph/functions/loss.h"
#include "weft/models/families/encoder.h"

namespace WEFT_API weft {

/// act(dense(h of the first token)): "<scope>.{weight,bias}" [width, width]. BERT's pooler, and the
/// hidden layer of the classifiers that other families put on the first token.
struct Pooler {
  Linear dense;
  Activation activation;

  /// h [batch, seq, width] -> [batch, width].
  Value operator()(Value h, SourceLocation loc = SourceLocation::current()) const;
};
Pooler make_pooler(const Scope& scope, const EncoderConfig& config, Activation activation,
                   SourceLocation loc = SourceLocation::current());

/// h [batch, seq, width] -> [batch, width]: the mean over the tokens of every row. `mask` [batch,
/// seq] is 1 where there is a token, 0 for padding.
Value mean_of_tokens(Value h, Value mask, SourceLocation loc = SourceLocation::current());
/// The same: of every feature the largest value over the tokens of the row.
Value max_of_tokens(Value h, Value mask, SourceLocation loc = SourceLocation::current());

struct MaskedLmOptions {
  Activation activation = Activation::gelu_erf;
  double layer_norm_eps = 1e-12;
  bool tied = true;  // the decoder is the table of tokens

  friend bool operator==(const MaskedLmOptions&, const MaskedLmOptions&) = default;
};

/// Predicts tokens: norm(act(dense(h))) decoder^T + bias. "<scope>.dense.{weight,bias}" [embedding
/// width, width], "<scope>.norm.{weight,bias}", "<scope>.bias" [vocab], "<scope>.decoder.weight"
/// [vocab, embedding width], an alias of the table of tokens where tied ("<scope>.decoder.bias" is
/// an alias of the bias).
struct MaskedLmHead {
  Linear dense;
  Activation activation;
  Norm norm;
  Variable decoder, bias;

  /// h [..., width] -> [..., vocab].
  Value operator()(Value h, SourceLocation loc = SourceLocation::current()) const;
};
MaskedLmHead make_masked_lm_head(const Scope& scope, const Encoder& encoder,
                                 const MaskedLmOptions& options,
                                 SourceLocation loc = SourceLocation::current());

/// Is every token an original one or a replacement (ELECTRA)? "<scope>.dense" [width, width] and
/// "<scope>.out" [1, width].
struct ReplacedTokenHead {
  Linear dense;
  Activation activation;
  Linear out;

  /// h [batch, seq, width] -> logits [batch, seq]; positive: replaced.
  Value operator()(Value h, SourceLocation loc = SourceLocation::current()) const;
};
ReplacedTokenHead make_replaced_token_head(const Scope& scope, const EncoderConfig& config,
                                           SourceLocation loc = SourceLocation::current());

/// Where an answer starts and ends.
struct SpanLogits {
  Value start, end;  // [batch, seq]
};
/// The two columns of logits [batch, seq, 2].
SpanLogits split_span(Value logits);

// -- Losses: labels are i32 or i64 unless said otherwise; -100 does not count ---------------------
// What is a mean over a batch is one over all its shards with Reduction::shard_mean.

/// Mean cross-entropy of logits [..., classes] over labels [...].
Value label_loss(Value logits, Value labels, Reduction reduction = Reduction::mean,
                 SourceLocation loc = SourceLocation::current());

/// Mean of the cross-entropies of both ends over all positions; start and end are [batch], one
/// beyond the sequence does not count (the answer was cut off), a negative one is 0.
Value span_loss(const SpanLogits& logits, Value start, Value end,
                Reduction reduction = Reduction::mean,
                SourceLocation loc = SourceLocation::current());

/// Mean binary cross-entropy over the tokens where mask [batch, seq] is 1 (all if undefined);
/// labels [batch, seq], any dtype, 1 = replaced. Throws ArgumentError as batch_sum().
Value replaced_token_loss(Value logits, Value labels, Value mask,
                          Reduction reduction = Reduction::mean,
                          SourceLocation loc = SourceLocation::current());

/// What the labels of a sequence are.
enum class Problem { regression, single_label, multi_label };
/// Loss of logits [batch, labels]: mean squared error against floating labels [batch] or [batch,
/// labels]; cross-entropy of classes [batch]; binary cross-entropy against floating [batch,
/// labels].
Value sequence_loss(Problem problem, Value logits, Value labels,
                    SourceLocation loc = SourceLocation::current());

}  // namespace weft
