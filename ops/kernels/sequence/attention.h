// The inner kernels of attention and its gradient. Each call processes one block of queries or keys
// of one head. For the formulas and operands, see the op record (ops/sequence/attention.cc).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "weft/core/dtype.h"
#include "weft/core/random.h"
#include "weft/ops/kernels/gemm_engine.h"

namespace weft {

/// Returns the distance in elements between two rows of scores of `keys` keys. Rows at distances of
/// a multiple of 1 KiB would share few sets of the L1 cache. Does not decrease with `keys`.
constexpr std::int64_t score_stride(std::int64_t keys) {
  const std::int64_t stride = (keys + 15) / 16 * 16;
  return stride % 256 == 0 ? stride + 16 : stride;
}

/// A pointer to i32 or i64 indices, or no data.
struct IndexData {
  const void* data = nullptr;
  bool wide = true;
  explicit operator bool() const { return data != nullptr; }
  std::int64_t operator[](std::int64_t i) const {
    return wide ? static_cast<const std::int64_t*>(data)[i]
                : static_cast<const std::int32_t*>(data)[i];
  }
};

/// The strides along [B, H, Lq, Lk], in elements. The stride is 0 for broadcast axes.
struct ScoreStrides {
  std::int64_t b = 0, h = 0, i = 0, j = 0;
};

/// The numbers of queries and keys in a tile. They are multiples of all register block sizes, and
/// 64 x 128 floats stay in the L1 and L2 caches.
inline constexpr std::int64_t kQueryBlock = 64;
inline constexpr std::int64_t kKeyBlock = 128;

/// The largest number of keys that a single query processes in one part, and the number of key
/// heads from which parts have this size. Memory is idle while the values of short parts are
/// multiplied, so parts are shorter only if there are few heads to process in parallel.
inline constexpr std::int64_t kPartKeys = 8192, kPartHeads = 8;

/// The operands of one attention op. A pointer is null if the operand is absent or has no elements.
template <class T>
struct AttentionArgs {
  std::int64_t B = 0, H = 0, Hkv = 0, Lq = 0, Lk = 0, D = 0, Dv = 0;
  /// Keys per head in a row of k and v. If they are fewer than Lk (forward only), key j is entry j
  /// % row_keys of a ring buffer or, if kv_rows has several columns, of the row in column j /
  /// row_keys.
  std::int64_t row_keys = 0;
  const T *q = nullptr, *k = nullptr, *v = nullptr;
  /// If `narrow` is set, keys and values are bfloat16 or, if `packed` is also set (forward only),
  /// rows of int8 with a scale (quantized/int8_rows.h). The following pointers are then used
  /// instead of k and v. Likewise, queries are bfloat16 if `narrow_queries` is set. In the
  /// gradient, both or none of `narrow` and `narrow_queries` are set.
  bool narrow = false, packed = false, narrow_queries = false;
  const BFloat16 *narrow_q = nullptr, *narrow_k = nullptr, *narrow_v = nullptr;
  const std::int8_t *packed_k = nullptr, *packed_v = nullptr;
  /// The rows of the [B, H, Lq, D] array at which q begins, and of the [B, Hkv, Lk, ...] arrays at
  /// which k and v begin.
  std::int64_t first_query_row = 0, first_key_row = 0;
  const T* bias = nullptr;
  ScoreStrides bias_strides;
  const bool* mask = nullptr;
  ScoreStrides mask_strides;
  const T* offset_bias = nullptr;
  std::int64_t offset_count = 0;  // T, the number of entries per head
  const T* row_bias = nullptr;
  IndexData row_index;
  std::int64_t row_count = 0;  // size R of row_bias
  const T* col_bias = nullptr;
  IndexData col_index;
  std::int64_t col_count = 0;
  IndexData lengths, q_start;
  /// [texts + 1]: text t consists of the queries and keys [offsets[t], offsets[t + 1]). Absent if
  /// the axes contain a single text.
  IndexData offsets;
  std::int64_t texts = 0;
  /// [B, columns], the rows of k and v for each row of q (forward only). If absent, it is row b.
  IndexData kv_rows;
  std::int64_t columns = 1;
  /// [H], scores of one more key per head with value 0.
  const T* sinks = nullptr;
  bool causal = false;
  std::int64_t window = 0, chunk = 0;
  T scale = 1;
  T soft_cap = 0;  // 0 means none
  /// Dropout keeps an element if its random word is at least this value. 0 means no dropout.
  std::uint64_t drop_below = 0;
  T keep_scale = 1;
  RandomStream random;
  /// The engine for all matrix products of tiles in float. Null selects fused multiply-adds. All
  /// tiles use the same engine, so that the gradient recomputes exactly the scores that the forward
  /// pass normalised.
  const kernels::GemmEngine* engine = nullptr;
  /// If true (KernelRequest::batch_invariant), every query is computed like a single query, and the
  /// result does not depend on the number of masked keys before or after the visible ones. There is
  /// no engine.
  bool batch_invariant = false;

  std::int64_t kv_head(std::int64_t h) const { return h / (H / Hkv); }
  /// Returns the largest number of keys that a query can attend to.
  std::int64_t most_keys() const { return columns > 1 ? Lk : std::min(Lk, row_keys); }
  /// Returns how many of the `count` keys from key j are contiguous in memory.
  std::int64_t contiguous(std::int64_t j, std::int64_t count) const {
    return std::min(count, row_keys - j % row_keys);
  }
  std::int64_t length(std::int64_t b) const { return lengths ? lengths[b] : Lk; }
  /// Returns the position of query 0 among the keys. With q_start, the position may be any
  /// non-negative integer.
  std::int64_t first_position(std::int64_t b) const { return q_start ? q_start[b] : Lk - Lq; }
  /// Returns the index into offset_bias[h] for query i and key 0. The index for key j is larger by
  /// j. The data check has ensured that the table contains the entries for all queries and keys.
  std::int64_t offset_origin(std::int64_t b, std::int64_t i) const {
    return q_start ? offset_count - Lk - q_start[b] - i : Lq - 1 - i;
  }
  struct Range {
    std::int64_t begin = 0, end = 0;
  };
  /// The text of all queries that a function processes, or empty if it is not known.
  Range text;
  /// Returns the range of the text that contains token i, given the offsets.
  Range text_of(std::int64_t i) const {
    if (text.begin < text.end) return text;
    std::int64_t first = 0, last = texts;  // the text is in [first, last)
    while (last - first > 1) {
      const std::int64_t middle = first + (last - first) / 2;
      (offsets[middle] <= i ? first : last) = middle;
    }
    return {offsets[first], offsets[first + 1]};
  }
  /// Returns the range [begin, end) of the keys that are visible to query i before any mask is
  /// applied, with 0 <= begin <= end <= Lk. Both bounds are non-decreasing in i.
  Range visible(std::int64_t b, std::int64_t i) const {
    if (!offsets) return visible_in_text(i, first_position(b), length(b));
    const Range around = text_of(i);
    const Range own = visible_in_text(i - around.begin, 0, around.end - around.begin);
    return {around.begin + own.begin, around.begin + own.end};
  }
  /// Like visible(), for a single text of `length` keys in which query 0 has the position `start`.
  /// Positions and windows may be any integers. To avoid overflow, they are compared by their
  /// differences and added only if the sum is the index of a key.
  Range visible_in_text(std::int64_t i, std::int64_t start, std::int64_t length) const {
    std::int64_t begin = 0, end = length;
    if (causal && start < end - i) end = start + i + 1;
    if (window > 0 && start < end - i && window < end - i - start) end = start + i + window;
    if (end < 0) end = 0;
    // The number of visible keys before the position of the query.
    const std::int64_t reach = window - 1;
    if (window > 0 && start > reach - i) {
      begin = start - reach < end - i ? start - reach + i : end;
    }
    if (chunk > 0) {
      if (start < -i) return {0, 0};  // before the first key
      const auto position = static_cast<std::uint64_t>(start) + static_cast<std::uint64_t>(i);
      const auto size = static_cast<std::uint64_t>(chunk), first = position / size * size;
      if (first >= static_cast<std::uint64_t>(end)) return {end, end};
      begin = std::max(begin, static_cast<std::int64_t>(first));
      if (chunk < end - static_cast<std::int64_t>(first)) {
        end = static_cast<std::int64_t>(first) + chunk;
      }
    }
    return {begin, end};
  }
  /// Returns the range of the keys that are visible to any query in [i0, i1).
  Range visible(std::int64_t b, std::int64_t i0, std::int64_t i1) const {
    return {visible(b, i0).begin, visible(b, i1 - 1).end};
  }
  /// Returns the end of the queries in [i0, i1) that are processed together with query i0. Queries
  /// of different texts are separated unless all of their keys fit into one tile, because each
  /// query of the group is multiplied by the keys of all of them. Batch-invariant programs, which
  /// multiply only a few queries at once, gain nothing from larger groups.
  std::int64_t group_end(std::int64_t b, std::int64_t i0, std::int64_t i1) const {
    if (!offsets) return i1;
    std::int64_t end = std::min(i1, text_of(i0).end);
    while (end < i1 && !batch_invariant) {
      const std::int64_t more = std::min(i1, text_of(end).end);
      const Range keys = visible(b, i0, more);
      if (keys.end - keys.begin > kKeyBlock) break;
      end = more;
    }
    return end;
  }
  /// Returns the largest number of keys that are visible to a block of queries.
  std::int64_t block_keys() const {
    const std::int64_t most = most_keys(), before = std::min(Lq, kQueryBlock) - 1;
    if (window <= 0 || window > most) return most;
    return std::min(most, before + window + (causal ? 0 : window - 1));
  }
  /// Returns the number of keys in a part. It does not depend on the batch or on the number of
  /// keys.
  std::int64_t part_keys() const {
    std::int64_t keys = kPartKeys;
    for (std::int64_t heads = Hkv; heads < kPartHeads && keys > kPartKeys / kPartHeads; heads *= 2)
      keys /= 2;
    return keys;
  }
  /// Returns the number of parts into which the keys of a single query are divided. Parts run in
  /// parallel, and all heads that share a key read it once. The number depends on shapes only.
  std::int64_t parts() const {
    if (batch_invariant || Lq != 1 || engine != nullptr || drop_below > 0 || H == 0 || Hkv == 0)
      return 1;
    return std::max<std::int64_t>(1, (block_keys() + part_keys() - 1) / part_keys());
  }
  /// Returns true if there are no queries. Then no key or value is read, and the other sizes may be
  /// too large for any memory.
  bool is_empty() const { return B == 0 || H == 0 || Lq == 0; }
  /// Return the numbers of elements that the gradient needs for widened queries (and for a row of
  /// the output) and for widened keys and values, rounded to whole vectors.
  std::int64_t wide_queries() const {
    return narrow_queries && !is_empty() ? ((Lq + 1) * std::max(D, Dv) + 15) / 16 * 16 : 0;
  }
  std::int64_t wide_keys() const {
    return narrow && !is_empty() ? (Lk * (D + Dv) + 15) / 16 * 16 : 0;
  }
  /// Returns the row index of a query in a [B, H, Lq, ...] array.
  std::int64_t query_row(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return (b * H + h) * Lq + i;
  }
  /// Returns the elements of a query.
  const T* query(std::int64_t b, std::int64_t h, std::int64_t i) const {
    return q + (query_row(b, h, i) - first_query_row) * D;
  }
  /// Returns the row index of a key for query head h in a [B, Hkv, row_keys, ...] array.
  std::int64_t key_row(std::int64_t b, std::int64_t h, std::int64_t j) const {
    const std::int64_t column = columns > 1 ? j / row_keys : 0;
    const std::int64_t row = kv_rows ? kv_rows[b * columns + column] : b;
    return (row * Hkv + kv_head(h)) * row_keys + j % row_keys - first_key_row;
  }
};

/// The additional inputs and the outputs of the gradient. Pointers are null if an operand is absent
/// or not requested.
template <class T>
struct AttentionGrads {
  const T *g = nullptr, *out = nullptr, *lse = nullptr;
  const BFloat16* narrow_out = nullptr;  // replaces `out` if it is given
  const T* g_lse = nullptr;
  T* delta = nullptr;  // [B, H, Lq]: sum(g * out) - g_lse, computed by attention_delta
  T* norm = nullptr;   // [B, H, Lq]: factors of exp(s - lse), computed by attention_norms
  T *dq = nullptr, *dk = nullptr, *dv = nullptr;
  T *drow_bias = nullptr, *dcol_bias = nullptr;
};

/// Return the number of scratch bytes that a worker needs on any CPU.
template <class T>
std::size_t attention_scratch_bytes(const AttentionArgs<T>& args);
template <class T>
std::size_t attention_grad_scratch_bytes(const AttentionArgs<T>& args);

/// Returns the number of query heads that one call of attention_forward() should process. It is 1
/// unless there is a single query: heads that share a key head then read each key and value once.
template <class T>
std::int64_t heads_per_call(const AttentionArgs<T>& args);

/// The results of the parts of all heads of one batch row.
template <class T>
struct AttentionParts {
  T* values = nullptr;  // [H / heads, parts, heads, Dv], sums of exp(s - max) v
  T* stats = nullptr;   // [H, parts, 2]: the largest score max, and the sum of exp(s - max)
};
/// Returns the number of heads that share a key head and process a part together.
template <class T>
std::int64_t heads_per_part(const AttentionArgs<T>& args);
/// Computes one part of the keys of a single query for heads_per_part() heads from h.
void attention_part(const AttentionArgs<float>& args, std::int64_t b, std::int64_t h,
                    std::int64_t part, const AttentionParts<float>& parts, std::byte* scratch);
void attention_part(const AttentionArgs<double>& args, std::int64_t b, std::int64_t h,
                    std::int64_t part, const AttentionParts<double>& parts, std::byte* scratch);
/// Computes out and lse (which may be null) of head h from its parts, in order.
void attention_combine(const AttentionArgs<float>& args, std::int64_t b, std::int64_t h,
                       const AttentionParts<float>& parts, float* out, float* lse);
void attention_combine(const AttentionArgs<double>& args, std::int64_t b, std::int64_t h,
                       const AttentionParts<double>& parts, double* out, double* lse);

/// Computes out and lse (which may be null) for at most kQueryBlock queries [i0, i1) of head h, or
/// for one query of the `heads` heads from h, which share a key head. The scores of the block,
/// kQueryBlock x block_keys(), are stored in scratch.
void attention_forward(const AttentionArgs<float>& args, std::int64_t b, std::int64_t h,
                       std::int64_t heads, std::int64_t i0, std::int64_t i1, float* out, float* lse,
                       std::byte* scratch);
void attention_forward(const AttentionArgs<double>& args, std::int64_t b, std::int64_t h,
                       std::int64_t heads, std::int64_t i0, std::int64_t i1, double* out,
                       double* lse, std::byte* scratch);

/// Computes grads.delta for rows [begin, end) of the B * H * Lq rows.
void attention_delta(const AttentionArgs<float>& args, const AttentionGrads<float>& grads,
                     std::int64_t begin, std::int64_t end, std::byte* scratch);
void attention_delta(const AttentionArgs<double>& args, const AttentionGrads<double>& grads,
                     std::int64_t begin, std::int64_t end, std::byte* scratch);

/// Computes grads.norm for one block of at most kQueryBlock queries, starting with i0:
/// 1 / sum(exp(s - lse)) if lse is large (see kLargeLse), else 1.
void attention_norms(const AttentionArgs<float>& args, const AttentionGrads<float>& grads,
                     std::int64_t b, std::int64_t h, std::int64_t i0, std::byte* scratch);
void attention_norms(const AttentionArgs<double>& args, const AttentionGrads<double>& grads,
                     std::int64_t b, std::int64_t h, std::int64_t i0, std::byte* scratch);

/// Computes dq and drow_bias for one block of at most kQueryBlock queries, starting with i0.
void attention_grad_queries(const AttentionArgs<float>& args, const AttentionGrads<float>& grads,
                            std::int64_t b, std::int64_t h, std::int64_t i0, std::byte* scratch);
void attention_grad_queries(const AttentionArgs<double>& args, const AttentionGrads<double>& grads,
                            std::int64_t b, std::int64_t h, std::int64_t i0, std::byte* scratch);

/// Computes dk, dv and dcol_bias for one block of at most kKeyBlock keys of one key head, starting
/// with j0. The contributions of its query heads are added in order.
void attention_grad_keys(const AttentionArgs<float>& args, const AttentionGrads<float>& grads,
                         std::int64_t b, std::int64_t kv_head, std::int64_t j0, std::byte* scratch);
void attention_grad_keys(const AttentionArgs<double>& args, const AttentionGrads<double>& grads,
                         std::int64_t b, std::int64_t kv_head, std::int64_t j0, std::byte* scratch);

/// Computes dq, dk, dv and dcol_bias for all queries and keys of one key head. Every tile of scores
/// is recomputed once rather than twice, so this takes five instead of seven matrix products. The
/// results have the bits of attention_grad_queries() and attention_grad_keys() if the first visible
/// key of every query is key 0.
void attention_grad_heads(const AttentionArgs<float>& args, const AttentionGrads<float>& grads,
                          std::int64_t b, std::int64_t kv_head, std::byte* scratch);
void attention_grad_heads(const AttentionArgs<double>& args, const AttentionGrads<double>& grads,
                          std::int64_t b, std::int64_t kv_head, std::byte* scratch);

/// Adds the gradients of the scores in one tile, queries [i0, i1) and keys [j0, j1), to `dbias` and
/// to doffset[0, offset_count) of this head. Either pointer may be null. `dbias` has strides
/// args.bias_strides, so gradients are summed over broadcast axes.
void attention_grad_scores(const AttentionArgs<float>& args, const AttentionGrads<float>& grads,
                           std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1,
                           std::int64_t j0, std::int64_t j1, float* dbias, float* doffset,
                           std::byte* scratch);
void attention_grad_scores(const AttentionArgs<double>& args, const AttentionGrads<double>& grads,
                           std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1,
                           std::int64_t j0, std::int64_t j1, double* dbias, double* doffset,
                           std::byte* scratch);

}  // namespace weft
