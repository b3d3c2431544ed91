// The projections of multi-head latent attention (DeepSeek-AI 2024, "DeepSeek-V2", section 2.1).
#pragma once

#include <optional>

#include "weft/core/function_ref.h"
#include "weft/models/layers/linear.h"
#include "weft/models/layers/norm.h"

namespace WEFT_API weft {

/// Sizes of a latent attention. Its keys and values are linear functions of a vector of `kv_rank`
/// features, and one rotated key part is shared by all heads.
struct LatentAttentionOptions {
  std::int64_t kv_rank = 0;     // features of the latent vector of keys and values; required
  std::int64_t query_rank = 0;  // features of the latent vector of queries; 0 = none
  std::int64_t value_size = 0;  // features per head of values; 0 means head_size
  NormLayerOptions norm = {.eps = 1e-6, .rms = true};  // of the latent vectors
};

/// Queries, keys and values, [batch, heads, seq, size].
struct QueriesKeysValues {
  Value q, k, v;
};

/// The parameters: kv_up(kv_down_norm(c)) gives the keys and values of all heads, where c is the
/// first kv_rank features of kv_down(x); the others are the shared rotated part of the keys.
/// Queries are query(x), or query_up(query_down_norm(query_down(x))) with a query_rank.
struct LatentProjection {
  LatentAttentionOptions options;
  std::int64_t heads, head_size, rotary;
  std::optional<Linear> query_down;
  std::optional<Norm> query_norm;
  Linear query;  // query_up with a query_rank
  Linear kv_down;
  Norm kv_norm;
  Linear kv_up;

  /// Projects x [batch, seq, width]. `rotate` applies the rotary positions to [batch, heads or 1,
  /// seq, rotary]. Each query and key consists of head_size - rotary features without positions
  /// and `rotary` features with positions.
  QueriesKeysValues operator()(Value x, FunctionRef<Value(Value)> rotate) const;
};

/// Declares "<scope>.query" (or query_down, query_down_norm, query_up), "<scope>.kv_down",
/// "<scope>.kv_down_norm" and "<scope>.kv_up". `in` are the options of the matrices; its bias is
/// that of query_down and kv_down only, as in DeepSeek's files. Throws ArgumentError unless kv_rank
/// is at least 1, the other sizes are not negative, and rotary is smaller than head_size.
LatentProjection make_latent_projection(const Scope& scope, DType dtype, std::int64_t width,
                                        std::int64_t heads, std::int64_t head_size,
                                        std::int64_t rotary, const LatentAttentionOptions& options,
                                        const LinearOptions& in,
                                        SourceLocation loc = SourceLocation::current());

}  // namespace weft
