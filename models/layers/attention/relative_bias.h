// Relative position bias (Raffel et al. 2020, "T5"): adds a learned bias per head and distance
// bucket to the scores.
#pragma once

#include <cstdint>

#include "weft/graph/ir/scope.h"

namespace WEFT_API weft {

struct RelativeBiasOptions {
  std::int64_t heads = 1;
  std::int64_t buckets = 32;
  std::int64_t max_distance = 128;  // this and larger distances share the last bucket
  /// True: one half of the buckets is for keys before the query, the other half for keys after it
  /// (encoders). False: keys after a query count as distance 0 (decoders, which mask them).
  bool bidirectional = true;
  Initializer initializer = Initializer::normal(0.02);
};

/// Returns the bucket of `offset` (key position - query position). Small distances have one bucket
/// each; larger ones have logarithmic buckets up to max_distance.
std::int64_t relative_bucket(std::int64_t offset, const RelativeBiasOptions& options);

/// The table of biases, "<scope>.weight" [buckets, heads].
struct RelativeBias {
  Scope scope;
  RelativeBiasOptions options;
  Variable weight;

  /// AttentionOptions::offset_bias for a whole sequence: [heads, queries + keys - 1].
  Value operator()(const Dim& queries, const Dim& keys) const;
  /// As above, for attention over a cache with queries at any position: [heads, 2 * capacity].
  Value over_cache(const Dim& capacity) const;
};

/// Declares the table. Throws ArgumentError unless there are at least 2 buckets per direction, and
/// max_distance is more than half this number.
RelativeBias make_relative_bias(const Scope& scope, DType dtype, const RelativeBiasOptions& options,
                                SourceLocation loc = SourceLocation::current());

}  // namespace weft
