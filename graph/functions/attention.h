// Scaled dot-product attention and rotary position embeddings.
#pragma once

#include <optional>

#include "weft/graph/functions/arg.h"

namespace WEFT_API weft {

/// Biases, masks and dropout of attention(). Shapes are given in terms of the batch size B, the
/// number of query heads H, and the numbers of queries Lq and keys Lk. The position of query i
/// among the keys is p(i) = i + q_start[b], or p(i) = i + Lk - Lq without q_start.
struct AttentionOptions {
  /// Floating-point bias that is added to the scores. Each axis of [B, H, Lq, Lk] has full size or
  /// size 1. `bias` and `mask` are the only operands that may need O(Lq Lk) memory.
  OptionalArg bias = {};
  /// bool, broadcast like `bias`; true means that the query attends to the key.
  OptionalArg mask = {};
  /// Bias table [H, T] that is indexed by the distance between query and key (T5, ALiBi, learned).
  /// Without q_start, T = Lq + Lk - 1 and table[h, j - i + Lq - 1] is added to the score of query i
  /// and key j. With q_start, table[h, j - p(i) + T - Lk] is added, and T must be at least p + Lk
  /// for every position p.
  OptionalArg offset_bias = {};
  /// Per-query bias [B, H, Lq, R] with row_index [Lq, Lk] (i32 or i64): adds row_bias[b, h, i,
  /// row_index[i, j]].
  OptionalArg row_bias = {};
  OptionalArg row_index = {};
  /// Per-key bias [B, H, Lk, R] with col_index [Lq, Lk]: adds col_bias[b, h, j, col_index[i, j]].
  OptionalArg col_bias = {};
  OptionalArg col_index = {};
  /// Causal mask: query i attends only to keys j <= p(i).
  bool causal = false;
  /// Sliding window: query i attends only to keys with |p(i) - j| < window; 0 means no window.
  std::int64_t window = 0;
  /// Factor of q k^T; 1 / sqrt(D) by default.
  std::optional<double> scale = {};
  /// Replaces the scaled products x by soft_cap * tanh(x / soft_cap), before biases and masks
  /// (Gemma 2); 0 means no cap.
  double soft_cap = 0;
  /// Number of valid keys per batch row, [B] (i32 or i64): keys j >= lengths[b] are masked and not
  /// computed.
  OptionalArg lengths = {};
  /// Position of query 0 among the keys, [B] (key/value caches).
  OptionalArg q_start = {};
  /// Row of k and v that each row of q attends to, [B] (i32 or i64). k and v then have any number
  /// of rows S, which are read in place; a row may occur several times. Without it, row b attends
  /// to row b. A row outside [0, S) is a DataError at run time. The gradient copies the rows.
  OptionalArg kv_rows = {};
  /// Probability of dropping an attention weight, and the random key for it.
  double dropout = 0;
  OptionalArg key = {};
  /// Attention sinks (GPT-OSS): floating-point scores [H] of one more key per head. All queries
  /// attend to it, and its value is 0, so that attention to the other keys sums to less than 1.
  OptionalArg sinks = {};
  /// Chunked attention (Llama 4): query i attends only to keys j of its chunk, for which
  /// floor(p(i) / chunk) = floor(j / chunk); 0 means no chunks.
  std::int64_t chunk = 0;
  /// The number of keys Lk, if k and v are ring buffers that contain only the newest keys: with
  /// buffers of size R, key j is entry j mod R (see TensorScatterOptions::circular). Requires
  /// `lengths`. If a query attends to a key j < lengths[b] - R, a run throws DataError.
  std::optional<Dim> ring = {};
  /// Texts without padding: [texts + 1] (i32 or i64). The axes Lq = Lk then contain texts one after
  /// the other, and text t is the range [offsets[t], offsets[t + 1]) (`cu_seqlens` of
  /// FlashAttention). Queries attend only to keys of the same text; causality, windows and chunks
  /// count from its beginning. Usually B = 1; if not, the texts of all rows have the same lengths.
  /// Keys of other texts are not computed, except of short texts that fit into one tile of 128
  /// keys together. Cannot be combined with lengths, q_start, kv_rows and ring (ArgumentError).
  /// Offsets that do not ascend from 0 to Lq are a DataError at run time.
  OptionalArg offsets = {};
};

/// The results of attention_with_lse().
struct AttentionResult {
  /// [B, H, Lq, Dv].
  Value out;
  /// [B, H, Lq]: log of the sum of exp(score) over the keys that a query attends to, including the
  /// sinks; -inf if none.
  Value lse;
};

/// Scaled dot-product attention: softmax(scale q k^T + biases) v, where the softmax of each query
/// is over the keys that it attends to (Vaswani et al. 2017). Needs O(Lq + Lk) memory. Shapes: q
/// [B, H, Lq, D], k [B, Hkv, Lk, D], v [B, Hkv, Lk, Dv], result [B, H, Lq, Dv]. H is a multiple of
/// Hkv, and query head h uses key head h / (H / Hkv). The result is zero for a query without keys.
/// All floating-point operands are differentiable.
Value attention(Arg q, Arg k, Arg v, const AttentionOptions& options = {});
/// Like attention(), but also returns the log-sum-exp of each query's scores.
AttentionResult attention_with_lse(Arg q, Arg k, Arg v, const AttentionOptions& options = {});

struct RopeOptions {
  /// Number of features that are rotated; all (D) by default.
  std::optional<std::int64_t> rotary_dim = {};
  double base = 10000;
  bool adjacent = false;  // pairs (2j, 2j+1) instead of (j, j + rotary_dim/2)
  bool inverse = false;   // rotate by the negative angle
};
/// Rotary position embedding: rotates feature pair j of x [B, H, L, D] by the angle
/// `positions * base^(-2j/rotary_dim)` (Su et al. 2021). `positions` is i32 or i64, [B, L] or [L].
Value rope(Arg x, Arg positions, const RopeOptions& options = {});

}  // namespace weft
