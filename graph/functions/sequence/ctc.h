// Connectionist temporal classification (A. Graves et al., "Connectionist temporal classification:
// labelling unsegmented sequence data with recurrent neural networks", 2006). Decoders on tensors
// are in models/generate/ctc_decode.h.
#pragma once

#include "weft/graph/functions/arg.h"
#include "weft/graph/functions/loss.h"

namespace WEFT_API weft {

struct CtcOptions {
  /// The class of steps without a label.
  std::int64_t blank = 0;
  /// `mean` divides the loss of each row by its target length (at least 1) before it averages over
  /// the rows, as in PyTorch; shard_mean does the same for the rows of all shards. `sum`,
  /// `batch_mean` and `none` use the losses as they are.
  Reduction reduction = Reduction::mean;
  /// Replaces infinite losses by 0.
  bool zero_infinity = false;
};

/// CTC loss: -ln of the probability of the targets, summed over all alignments of the targets with
/// the time steps. An alignment has one class per step; the targets result from it if repeated
/// classes are merged and blanks are removed.
///
/// `logits` is f32 or f64 [batch, time, classes]; probabilities are their softmax over the classes,
/// so log-probabilities may be passed as well. `targets` is i32 or i64 [batch, longest target].
/// `input_lengths` and `target_lengths`, i32 or i64 [batch], contain the number of valid steps and
/// targets of each row; if absent, all are valid. The padding of logits and targets may have any
/// values and gets gradient 0. Lengths may be 0.
///
/// The loss of a row is infinite if its targets do not fit, because there are fewer steps than
/// targets plus pairs of equal neighbours, or if all alignments have probability 0. Infinite losses
/// have gradient 0. Logits of -inf (probability 0) are allowed; a step in which all logits are -inf
/// gives NaN.
///
/// Sums over alignments are computed in double precision in log space, so that long inputs lose no
/// accuracy. Gradients of any order are available. The cost is O(batch * time * (classes + longest
/// target)). The loss and its gradient need up to 12 bytes per logit and 36 bytes per row, step and
/// target.
///   const Value loss = ctc_loss(logits, targets, input_lengths, target_lengths);
/// Throws ShapeError or DTypeError for other operands, ArgumentError if `blank` is not a class, and
/// at run time DataError, which names row and position, for a length out of range and for a target
/// that is not a class or that is the blank.
Value ctc_loss(Arg logits, Arg targets, OptionalArg input_lengths, OptionalArg target_lengths,
               const CtcOptions& options = {});

/// The result of ctc_greedy_decode().
struct CtcDecoded {
  Value ids;      // i64 [batch, time]; 0 after the ids of a row
  Value lengths;  // i64 [batch]: the number of ids of each row
};
/// Greedy CTC decoding in the graph: takes the most probable class of each step, merges repeated
/// classes and removes blanks. `logits` is [batch, time, classes]; `input_lengths` (i32 or i64
/// [batch]) is the number of valid steps, by default all. No gradient. Throws errors as ctc_loss()
/// does.
CtcDecoded ctc_greedy_decode(Arg logits, OptionalArg input_lengths = {}, std::int64_t blank = 0);

}  // namespace weft
