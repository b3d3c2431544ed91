// Attention and rotary positions.
#pragma once

#include <optional>

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

/// What scores are made of besides q k^T, and which keys a query sees. B batch rows, H query heads,
/// Lq queries, Lk keys. Query i stands at position p(i) = i + q_start[b], or i + Lk - Lq without
/// q_start.
struct AttentionOptions {
  /// Added to the scores; floating; every axis of [B, H, Lq, Lk] full or 1. The only operand, with
  /// mask, whose memory may be O(Lq Lk).
  OptionalArg bias = {};
  /// bool, the same broadcasting: true = attend.
  OptionalArg mask = {};
  /// [H, T]: adds table[h, j - i + Lq - 1], T = Lq + Lk - 1; with q_start adds table[h, j - p(i) +
  /// T - Lk], and T must be at least p + Lk for every position p (T5, ALiBi, learned).
  OptionalArg offset_bias = {};
  /// [B, H, Lq, R] with row_index [Lq, Lk] (i32 or i64): adds row_bias[b, h, i, row_index[i, j]].
  OptionalArg row_bias = {};
  OptionalArg row_index = {};
  /// [B, H, Lk, R] with col_index [Lq, Lk]: adds col_bias[b, h, j, col_index[i, j]].
  OptionalArg col_bias = {};
  OptionalArg col_index = {};
  /// Query i sees keys j <= p(i) only.
  bool causal = false;
  /// Query i sees keys with |p(i) - j| < window only; 0 = no window.
  std::int64_t window = 0;
  /// Factor of q k^T; by default 1 / sqrt(D).
  std::optional<double> scale = {};
  /// [B] (i32 or i64): keys from lengths[b] on are not seen and cost nothing.
  OptionalArg lengths = {};
  /// [B]: position of query 0 among the keys (key/value caches).
  OptionalArg q_start = {};
  /// Share of the probabilities that is dropped, with its random key.
  double dropout = 0;
  OptionalArg key = {};
};

/// What attention gives.
struct AttentionResult {
  Value out;  // [B, H, Lq, Dv]
  Value lse;  // [B, H, Lq]: log of the sum of exp(score) over the keys seen; -inf if none
};

/// softmax(scale q k^T + biases) v over the keys that each query sees (Vaswani et al. 2017), in
/// memory O(Lq + Lk). q [B, H, Lq, D], k [B, Hkv, Lk, D], v [B, Hkv, Lk, Dv]; H is a multiple of
/// Hkv, query head h uses key head h / (H / Hkv). A query that sees no key gives zeros. All
/// floating operands are differentiable.
Value attention(Arg q, Arg k, Arg v, const AttentionOptions& options = {});
/// The same, and the logarithm of every query's sum.
AttentionResult attention_with_lse(Arg q, Arg k, Arg v, const AttentionOptions& options = {});

struct RopeOptions {
  std::optional<std::int64_t> rotary_dim = {};  // features that turn; by default all (D)
  double base = 10000;
  bool adjacent = false;  // pairs (2j, 2j+1) instead of (j, j + rotary_dim/2)
  bool inverse = false;   // turn back
};
/// Turns the feature pairs j of x [B, H, L, D] by positions * base^(-2j/rotary_dim) (Su et al.
/// 2021). positions are i32 or i64, [B, L] or [L].
Value rope(Arg x, Arg positions, const RopeOptions& options = {});

}  // namespace weft
