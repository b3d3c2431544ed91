// What is run of a language network.
#pragma once

#include "weft/graph/ir/program.h"
#include "weft/models/language/network.h"

namespace WEFT_API weft {

/// Programs over inputs "tokens" and "targets", both i32 [batch, seq]; targets[b][t] is the token
/// that follows tokens[b][t]:
///   evaluate  "loss": mean cross-entropy over all positions
///   score     "losses" [batch, seq]: what `evaluate` takes the mean of
///   step      incremental: reads "tokens" alone, which go on with the texts of the caches;
///             "logits" [batch, vocab] of what follows them
/// Each row of the former two begins a text. Trained is evaluate's loss.
struct NetworkPrograms {
  Program evaluate{"evaluate"}, score{"score"}, step{"step"};
  Value loss;
};
NetworkPrograms network_programs(const LanguageNetwork& network,
                                 SourceLocation loc = SourceLocation::current());

/// Truncated back-propagation through time over inputs "stream.tokens" and "stream.targets", both
/// i32 [batch, seq] with that constant batch, and "stream.fresh", a bool scalar
/// (CarryingNetwork::go_on): the mean loss, and the updates that a program of it must have.
struct CarriedLoss {
  Value loss;
  Updates updates;
};
CarriedLoss carried_loss(const CarryingNetwork& network, std::int64_t batch,
                         SourceLocation loc = SourceLocation::current());

}  // namespace weft
