// Programs to train, evaluate and generate with a language network.
#pragma once

#include "weft/graph/ir/program.h"
#include "weft/models/language/network.h"

namespace WEFT_API weft {

/// Programs with the inputs "tokens" and "targets", both i32 [batch, seq]; targets[b][t] is the
/// token after tokens[b][t]:
///   evaluate  "loss": mean cross-entropy over all positions
///   score     "losses" [batch, seq]: the cross-entropy at every position
///   step      incremental: the only input is "tokens", which continues the cached texts; "logits"
///             [batch, vocab] of the next token
/// In `evaluate` and `score` every row is the beginning of a text. `loss` is the loss of
/// `evaluate`, to be minimised.
struct NetworkPrograms {
  Program evaluate{"evaluate"}, score{"score"}, step{"step"};
  Value loss;
};
NetworkPrograms network_programs(const LanguageNetwork& network,
                                 SourceLocation loc = SourceLocation::current());

/// Truncated back-propagation through time (StatefulNetwork::continue_text) with the inputs
/// "stream.tokens" and "stream.targets", both i32 [batch, seq] with a constant batch, and
/// "stream.fresh", a bool scalar. Contains the mean loss and the updates that every program with
/// this loss must apply.
struct CarriedLoss {
  Value loss;
  Updates updates;
};
CarriedLoss carried_loss(const StatefulNetwork& network, std::int64_t batch,
                         SourceLocation loc = SourceLocation::current());

}  // namespace weft
