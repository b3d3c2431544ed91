// Relative position bias (Raffel et al. 2020, "T5"): a learned number per head and bucket of
// distances is added to the scores.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

struct RelativeBiasOptions {
  std::int64_t heads = 1;
  std::int64_t buckets = 32;
  std::int64_t max_distance = 128;  // this far and farther is the last bucket
  /// Keys before and after a query have half the buckets each (encoders); otherwise keys after it
  /// count as distance 0 (decoders, which do not see them).
  bool bidirectional = true;
  Initializer initializer = Initializer::normal(0.02);
};

/// The bucket of key position - query position: the distance itself for small ones, then
/// logarithmic up to max_distance.
std::int64_t relative_bucket(std::int64_t offset, const RelativeBiasOptions& options);

/// The table "<scope>.weight" [buckets, heads].
struct RelativeBias {
  Scope scope;
  RelativeBiasOptions options;
  Variable weight;

  /// AttentionOptions::offset_bias of a whole sequence: [heads, queries + keys - 1].
  Value operator()(const Dim& queries, const Dim& keys) const;
  /// The same over a cache, wherever its queries stand: [heads, 2 * capacity].
  Value over_cache(const Dim& capacity) const;
};

/// Declares the table. Throws ArgumentError where the buckets make no sense: at least 2 per
/// direction, and max_distance more than half of these.
RelativeBias make_relative_bias(const Scope& scope, DType dtype, const RelativeBiasOptions& options,
                                SourceLocation loc = SourceLocation::current());

}  // namespace weft
