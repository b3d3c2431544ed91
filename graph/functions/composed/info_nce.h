// info_nce: the contrastive loss.
#pragma once

#include "weft/graph/functions/loss.h"

namespace WEFT_API weft {

struct InfoNceOptions {
  /// Given negatives, with the dtype of the queries: [m, d] for all queries, for example a queue
  /// (MoCo), or [n, m, d] with m negatives for each query. m may be 0.
  OptionalArg negatives = {};
  /// bool [n, n + m] with shared negatives [m, d], or [n, n] without given negatives: true where
  /// the key in a column is not a negative of the query in a row, for example because it equals the
  /// positive of that query (a "false negative"). The diagonal of the first n columns, the
  /// positives, has no effect. Requires in_batch.
  OptionalArg excluded = {};
  /// Uses the keys of all other rows as negatives of a query. If false, `negatives` are required.
  bool in_batch = true;
  /// The scores are divided by the temperature: a number above 0, or a scalar Value, which may be
  /// learned. A common choice is exp(-s) with a Variable s (CLIP).
  Arg temperature = 0.1;
  /// Divides queries, keys and negatives by their Euclidean norms (at least 1e-12), so that scores
  /// are cosines. Otherwise, scores are inner products.
  bool normalize = true;
  /// Averages the loss with that of the keys as queries: the loss of CLIP (Radford et al. 2021).
  /// Requires in_batch, and cannot be combined with `negatives`.
  bool symmetric = false;
  Reduction reduction = Reduction::mean;
};

/// InfoNCE loss of each query: -ln softmax(scores)[positive] over its own key, the positive, and
/// its negatives (van den Oord et al. 2018; NT-Xent; sentence-transformers:
/// MultipleNegativesRankingLoss). `queries` and `keys` are f32 or f64 [n, d], and row i of `keys`
/// belongs to row i of `queries`. Reduction::none gives [n]. In a sharded program, the negatives
/// are those of the shard.
///
/// Stable for scores of any size. Costs one product with n * (n + m) * d multiplications. The
/// scores are not stored, unless the loss is symmetric or negatives [n, m, d], `excluded` or
/// in_batch = false are used; then they need n * (n + m) elements. Throws ShapeError or DTypeError
/// if the operands do not match, and ArgumentError for options that cannot be combined or are out
/// of range.
Value info_nce(Arg queries, Arg keys, const InfoNceOptions& options = {});

}  // namespace weft
