// The inner kernels of attention and its gradient. A call processes one block of queries or keys of
// one head. Formulas and operands are those of the record (ops/attention.cc).
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/core/dtype.h"
#include "weft/core/random.h"
#include "weft/ops/kernels/gemm/engine.h"

namespace weft {

/// Indices in i32 or i64, or no data.
struct IndexData {
  const void* data = nullptr;
  bool wide = true;
  explicit operator bool() const { return data != nullptr; }
  std::int64_t operator[](std::int64_t i) const {
    return wide ? static_cast<const std::int64_t*>(data)[i]
                : static_cast<const std::int32_t*>(data)[i];
  }
};

/// Strides in elements over [B, H, Lq, Lk]; 0 on broadcast axes.
struct ScoreStrides {
  std::int64_t b = 0, h = 0, i = 0, j = 0;
};

/// The number of queries and keys of one tile: multiples of every register block, and 64 x 128
/// floats stay in the L1 and L2 caches.
inline constexpr std::int64_t kQueryBlock = 64;
inline constexpr std::int64_t kKeyBlock = 128;

/// The operands of one attention. A pointer is null if the operand is absent or has no elements.
template <class T>
struct AttentionArgs {
  std::int64_t B = 0, H = 0, Hkv = 0, Lq = 0, Lk = 0, D = 0, Dv = 0;
  const T *q = nullptr, *k = nullptr, *v = nullptr;
  /// If `narrow` is set (forward only), keys and values are bfloat16, and these replace k and v.
  bool narrow = false;
  const BFloat16 *narrow_k = nullptr, *narrow_v = nullptr;
  /// The row of [B, Hkv, Lk, ...] at which k and v begin.
  std::int64_t first_key_row = 0;
  const T* bias = nullptr;
  ScoreStrides bias_strides;
  const bool* mask = nullptr;
  ScoreStrides mask_strides;
  const T* offset_bias = nullptr;
  std::int64_t offset_count = 0;  // T: entries per head
  const T* row_bias = nullptr;
  IndexData row_index;
  std::int64_t row_count = 0;  // R of row_bias
  const T* col_bias = nullptr;
  IndexData col_index;
  std::int64_t col_count = 0;
  IndexData lengths, q_start;
  bool causal = false;
  std::int64_t window = 0;
  T scale = 1;
  /// Dropout keeps an element if its random word is at least this; 0 means no dropout.
  std::uint64_t drop_below = 0;
  T keep_scale = 1;
  RandomStream random;
  /// The engine of all products of tiles in float; null for fused multiply-adds. All tiles use one
  /// engine, so that the gradient recomputes the scores that the forward pass normalised.
  const kernels::GemmEngine* engine = nullptr;

  std::int64_t kv_head(std::int64_t h) const { return h / (H / Hkv); }
  std::int64_t length(std::int64_t b) const { return lengths ? lengths[b] : Lk; }
  /// Returns the position of query 0 among the keys. With q_start it may be any integer from 0 to
  /// the largest.
  std::int64_t first_position(std::int64_t b) const { return q_start ? q_start[b] : Lk - Lq; }
  /// Returns the index into offset_bias[h] for query i and key 0; key j is j entries further. The
  /// data check has ensured that the entries for all queries and keys are in the table.
  std::int64_t offset_origin(std::int64_t b, std::int64_t i) const {
    return q_start ? offset_count - Lk - q_start[b] - i : Lq - 1 - i;
  }
  struct Range {
    std::int64_t begin, end;
  };
  /// Returns the keys [begin, end) that are visible to query i, before any mask: 0 <= begin <= end
  /// <= Lk, and both are non-decreasing in i. Nothing overflows: positions and windows may be any
  /// integers, so they are compared by differences and added only if the sum is the index of a key.
  Range visible(std::int64_t b, std::int64_t i) const {
    const std::int64_t start = first_position(b);
    std::int64_t begin = 0, end = length(b);
    if (causal && start < end - i) end = start + i + 1;
    if (window > 0 && start < end - i && window < end - i - start) end = start + i + window;
    if (end < 0) end = 0;
    const std::int64_t reach = window - 1;  // keys before the position of the query
    if (window > 0 && start > reach - i) {
      begin = start - reach < end - i ? start - reach + i : end;
    }
    return {begin, end};
  }
  /// Returns the range of the keys that are visible to any of the queries [i0, i1).
  Range visible(std::int64_t b, std::int64_t i0, std::int64_t i1) const {
    return {visible(b, i0).begin, visible(b, i1 - 1).end};
  }
  /// Returns the row in a [B, H, Lq, ...] array.
  std::int64_t query_row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return (b * H + h) * Lq + i;
  }
  /// Returns the row in a [B, Hkv, Lk, ...] array, for query head h.
  std::int64_t key_row(std::int64_t b, std::int64_t h, std::int64_t j) const {
    return (b * Hkv + kv_head(h)) * Lk + j - first_key_row;
  }
};

/// Further inputs of the gradient, and its outputs; null if they are absent or not requested.
template <class T>
struct AttentionGrads {
  const T *g = nullptr, *out = nullptr, *lse = nullptr;
  const T* g_lse = nullptr;
  T* delta = nullptr;  // [B, H, Lq]: sum(g * out) - g_lse, computed by attention_delta
  T *dq = nullptr, *dk = nullptr, *dv = nullptr;
  T *drow_bias = nullptr, *dcol_bias = nullptr;
};

/// Return the scratch bytes of one worker, on any CPU.
template <class T>
std::size_t attention_scratch_bytes(const AttentionArgs<T>& args);
template <class T>
std::size_t attention_grad_scratch_bytes(const AttentionArgs<T>& args);

/// Computes out and lse (which may be null) of queries [i0, i1), at most kQueryBlock of them. The
/// scores of the block, kQueryBlock x Lk, are kept in scratch.
void attention_forward(const AttentionArgs<float>& args, std::int64_t b, std::int64_t h,
                       std::int64_t i0, std::int64_t i1, float* out, float* lse,
                       std::byte* scratch);
void attention_forward(const AttentionArgs<double>& args, std::int64_t b, std::int64_t h,
                       std::int64_t i0, std::int64_t i1, double* out, double* lse,
                       std::byte* scratch);

/// Computes grads.delta for rows [begin, end) of [B * H * Lq].
void attention_delta(const AttentionArgs<float>& args, const AttentionGrads<float>& grads,
                     std::int64_t begin, std::int64_t end);
void attention_delta(const AttentionArgs<double>& args, const AttentionGrads<double>& grads,
                     std::int64_t begin, std::int64_t end);

/// Computes dq and drow_bias of one block of queries (kQueryBlock, starting with i0).
void attention_grad_queries(const AttentionArgs<float>& args, const AttentionGrads<float>& grads,
                            std::int64_t b, std::int64_t h, std::int64_t i0, std::byte* scratch);
void attention_grad_queries(const AttentionArgs<double>& args, const AttentionGrads<double>& grads,
                            std::int64_t b, std::int64_t h, std::int64_t i0, std::byte* scratch);

/// Computes dk, dv and dcol_bias of one block of keys (kKeyBlock, starting with j0) of one key
/// head, adding its query heads in order.
void attention_grad_keys(const AttentionArgs<float>& args, const AttentionGrads<float>& grads,
                         std::int64_t b, std::int64_t kv_head, std::int64_t j0, std::byte* scratch);
void attention_grad_keys(const AttentionArgs<double>& args, const AttentionGrads<double>& grads,
                         std::int64_t b, std::int64_t kv_head, std::int64_t j0, std::byte* scratch);

/// Adds the gradient of the scores of one tile, queries [i0, i1) and keys [j0, j1), to `dbias` (an
/// array with strides args.bias_strides: sums over broadcast axes) and to doffset[0, offset_count)
/// of that head; either may be null.
void attention_grad_scores(const AttentionArgs<float>& args, const AttentionGrads<float>& grads,
                           std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1,
                           std::int64_t j0, std::int64_t j1, float* dbias, float* doffset,
                           std::byte* scratch);
void attention_grad_scores(const AttentionArgs<double>& args, const AttentionGrads<double>& grads,
                           std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1,
                           std::int64_t j0, std::int64_t j1, double* dbias, double* doffset,
                           std::byte* scratch);

}  // namespace weft
