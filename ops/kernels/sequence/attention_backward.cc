#include <math.h>

#include "weft/ops/kernels/sequence/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/sequence/attention_backward.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/sequence/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

/// The probabilities (after dropout), the gradients of the scores and the derivatives of the soft
/// cap (null without it) of one tile, with row stride kKeyBlock.
template <class T>
struct Tile {
  T *p, *ds, *factor, *slope;
  T *wide_queries, *wide_keys;
  std::byte* gemm_scratch;

  Tile(const AttentionArgs<T>& a, std::byte* scratch)
      : p(reinterpret_cast<T*>(scratch)),
        ds(p + kQueryBlock * kKeyBlock),
        factor(ds + kQueryBlock * kKeyBlock),
        slope(a.soft_cap > 0 ? factor + kKeyBlock : nullptr),
        wide_queries(factor + kKeyBlock + (a.soft_cap > 0 ? kQueryBlock * kKeyBlock : 0)),
        wide_keys(wide_queries + a.wide_queries()),
        gemm_scratch(reinterpret_cast<std::byte*>(wide_keys + a.wide_keys())) {}
};

/// Returns the operands with the queries [i0, i1) of head h and the keys and values [j0, j1)
/// widened if they are narrow and neither range is empty.
template <class T>
AttentionArgs<T> widened_operands(const AttentionArgs<T>& a, int64_t b, int64_t h, int64_t i0,
                                  int64_t i1, int64_t j0, int64_t j1, const Tile<T>& tile) {
  AttentionArgs<T> result = a;
  if (!a.narrow || i0 >= i1 || j0 >= j1) return result;
  widen_queries(result, a.query_row(b, h, i0), i1 - i0, tile.wide_queries);
  const int64_t first = a.key_row(b, h, j0), count = j1 - j0;
  T* const values = tile.wide_keys + count * a.D;
  widen(a.narrow_k + first * a.D, count * a.D, tile.wide_keys);
  widen(a.narrow_v + first * a.Dv, count * a.Dv, values);
  result.narrow = false;
  result.k = tile.wide_keys;
  result.v = values;
  result.first_key_row = first;
  return result;
}

/// Recomputes a tile from lse: p = norm * exp(s - lse), ds = p * (dropout(g v^T) - delta), p =
/// dropout(p).
template <class T>
void compute_tile(const AttentionArgs<T>& a, const AttentionGrads<T>& grads, int64_t b, int64_t h,
                  int64_t i0, int64_t rows, int64_t j0, int64_t cols, const Tile<T>& tile) {
  attention_scores<false>(a, b, h, 1, i0, rows, j0, cols, tile.p, kKeyBlock, tile.gemm_scratch,
                          tile.slope);
  kernels::gemm({.m = rows,
                 .n = cols,
                 .k = a.Dv,
                 .a = {grads.g + a.query_row(b, h, i0) * a.Dv, a.Dv, 1},
                 .b = {a.v + a.key_row(b, h, j0) * a.Dv, 1, a.Dv},
                 .c = tile.ds,
                 .c_stride = kKeyBlock,
                 .accumulate = false,
                 .engine = a.engine},
                tile.gemm_scratch);
  for (int64_t r = 0; r < rows; ++r) {
    T* p = tile.p + r * kKeyBlock;
    T* ds = tile.ds + r * kKeyBlock;
    const int64_t row = a.query_row(b, h, i0 + r);
    const T lse = grads.lse[row], delta = grads.delta[row];
    if (lse == negative_infinity<T>()) {  // fully masked
      for (int64_t c = 0; c < cols; ++c) p[c] = ds[c] = 0;
      continue;
    }
    row_sum_exp(p, cols, lse, p);
    if (grads.norm[row] != 1) row_scale(p, cols, grads.norm[row], p);
    if (a.drop_below > 0) {
      attention_dropout(a, b, h, i0 + r, j0, cols, tile.factor);
      row_multiply(ds, tile.factor, cols);
    }
    for (int64_t c = 0; c < cols; ++c) {  // masked keys may have arbitrary values
      ds[c] = p[c] == 0 ? T(0) : p[c] * (ds[c] - delta);
    }
    if (a.drop_below > 0) row_multiply(p, tile.factor, cols);
    if (a.engine != nullptr) {
      row_drop_tiny(p, cols);
      row_drop_tiny(ds, cols);
    }
  }
}

/// Replaces the gradients of the scores by those of the scaled products, before the soft cap.
template <class T>
void differentiate_soft_cap(const AttentionArgs<T>& a, int64_t rows, int64_t cols,
                            const Tile<T>& tile) {
  for (int64_t r = 0; a.soft_cap > 0 && r < rows; ++r) {
    T* ds = tile.ds + r * kKeyBlock;
    const T* slope = tile.slope + r * kKeyBlock;
    for (int64_t c = 0; c < cols; ++c) ds[c] = ds[c] == 0 ? T(0) : ds[c] * slope[c];
    if (a.engine != nullptr) row_drop_tiny(ds, cols);
  }
}

/// Adds the contribution of the keys of a tile to dq, before the scale.
template <class T>
void add_to_queries(const AttentionArgs<T>& a, int64_t b, int64_t h, int64_t rows, int64_t j0,
                    int64_t cols, const Tile<T>& tile, T* dq) {
  kernels::gemm({.m = rows,
                 .n = a.D,
                 .k = cols,
                 .a = {tile.ds, kKeyBlock, 1},
                 .b = {a.k + a.key_row(b, h, j0) * a.D, a.D, 1},
                 .c = dq,
                 .c_stride = a.D,
                 .accumulate = true,
                 .engine = a.engine},
                tile.gemm_scratch);
}

template <class T>
void clear(T* p, int64_t n) {
  for (int64_t i = 0; i < n; ++i) p[i] = 0;
}

template <class T>
void delta_rows(const AttentionArgs<T>& a, const AttentionGrads<T>& grads, int64_t begin,
                int64_t end, std::byte* scratch) {
  T* const wide = Tile<T>(a, scratch).wide_queries;
  for (int64_t r = begin; r < end; ++r) {
    const T* out = grads.out + r * a.Dv;
    if (grads.narrow_out != nullptr) {
      widen(grads.narrow_out + r * a.Dv, a.Dv, wide);
      out = wide;
    }
    double delta = row_dot(grads.g + r * a.Dv, out, a.Dv);
    if (grads.g_lse != nullptr) delta -= static_cast<double>(grads.g_lse[r]);
    grads.delta[r] = static_cast<T>(delta);
  }
}

/// Calls fn(i, rows) for the groups of queries in the block that starts with i0.
template <class T, class Fn>
void for_groups(const AttentionArgs<T>& a, int64_t b, int64_t i0, Fn fn) {
  const int64_t i1 = HWY_MIN(a.Lq, i0 + kQueryBlock);
  for (int64_t i = i0, end = 0; i < i1; i = end) {
    end = a.group_end(b, i, i1);
    fn(i, end - i);
  }
}

template <class T>
void norms(const AttentionArgs<T>& args, const AttentionGrads<T>& grads, int64_t b, int64_t h,
           int64_t i0, int64_t rows, std::byte* scratch) {
  const int64_t first = args.query_row(b, h, i0);
  double sums[kQueryBlock] = {};
  bool any = false;
  for (int64_t r = 0; r < rows; ++r) {
    grads.norm[first + r] = 1;
    const double lse = ::fabs(static_cast<double>(grads.lse[first + r]));
    if (!(lse > kLargeLse) || lse - lse != 0) continue;
    any = true;
    grads.norm[first + r] = 0;
  }
  if (!any) return;
  const Tile<T> tile(args, scratch);
  const auto keys = args.visible(b, i0, i0 + rows);
  const AttentionArgs<T> a =
      widened_operands(args, b, h, i0, i0 + rows, keys.begin, keys.end, tile);
  for (int64_t j0 = keys.begin; j0 < keys.end; j0 += kKeyBlock) {
    const int64_t cols = HWY_MIN(kKeyBlock, keys.end - j0);
    attention_scores<false>(a, b, h, 1, i0, rows, j0, cols, tile.p, kKeyBlock, tile.gemm_scratch);
    for (int64_t r = 0; r < rows; ++r) {
      if (grads.norm[first + r] != 0) continue;
      sums[r] += row_sum_exp<T>(tile.p + r * kKeyBlock, cols, grads.lse[first + r], nullptr);
    }
  }
  for (int64_t r = 0; r < rows; ++r) {
    if (grads.norm[first + r] != 0) continue;
    if (a.sinks != nullptr)
      sums[r] += ::exp(static_cast<double>(a.sinks[h] - grads.lse[first + r]));
    grads.norm[first + r] = lse_correction(sums[r], grads.lse[first + r]);
  }
}

template <class T>
void queries(const AttentionArgs<T>& args, const AttentionGrads<T>& grads, int64_t b, int64_t h,
             int64_t i0, int64_t rows, std::byte* scratch) {
  const Tile<T> tile(args, scratch);
  const auto keys = args.visible(b, i0, i0 + rows);
  const AttentionArgs<T> a =
      widened_operands(args, b, h, i0, i0 + rows, keys.begin, keys.end, tile);
  T* dq = grads.dq != nullptr ? grads.dq + a.query_row(b, h, i0) * a.D : nullptr;
  T* drow =
      grads.drow_bias != nullptr ? grads.drow_bias + a.query_row(b, h, i0) * a.row_count : nullptr;
  if (dq != nullptr) clear(dq, rows * a.D);
  if (drow != nullptr) clear(drow, rows * a.row_count);
  for (int64_t j0 = keys.begin; j0 < keys.end; j0 += kKeyBlock) {
    const int64_t cols = HWY_MIN(kKeyBlock, keys.end - j0);
    compute_tile(a, grads, b, h, i0, rows, j0, cols, tile);
    for (int64_t r = 0; drow != nullptr && r < rows; ++r) {
      for (int64_t c = 0; c < cols; ++c) {
        drow[r * a.row_count + a.row_index[(i0 + r) * a.Lk + j0 + c]] += tile.ds[r * kKeyBlock + c];
      }
    }
    if (dq == nullptr) continue;
    differentiate_soft_cap(a, rows, cols, tile);
    add_to_queries(a, b, h, rows, j0, cols, tile, dq);
  }
  if (dq != nullptr) row_scale(dq, rows * a.D, a.scale, dq);
}

/// Returns the first block of queries, as a multiple of kQueryBlock, that may attend to key j or a
/// later one, by bisection: the ends of the visible keys do not decrease.
template <class T>
int64_t first_query_block(const AttentionArgs<T>& a, int64_t b, int64_t j) {
  int64_t first = 0, last = (a.Lq + kQueryBlock - 1) / kQueryBlock;
  while (first < last) {
    const int64_t middle = first + (last - first) / 2;
    const int64_t i = HWY_MIN(a.Lq, (middle + 1) * kQueryBlock) - 1;
    if (a.visible(b, i).end > j) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  return first * kQueryBlock;
}

/// Computes the gradients of a block of keys. If `add_queries`, also adds the contributions of
/// these keys to dq, before the scale.
template <class T>
void keys(const AttentionArgs<T>& args, const AttentionGrads<T>& grads, int64_t b, int64_t kv_head,
          int64_t j0, bool add_queries, std::byte* scratch) {
  const Tile<T> tile(args, scratch);
  const int64_t all_cols = HWY_MIN(kKeyBlock, args.Lk - j0), group = args.H / args.Hkv;
  const int64_t first = (b * args.Hkv + kv_head) * args.Lk + j0;
  AttentionArgs<T> a = args;
  T* dk = grads.dk != nullptr ? grads.dk + first * a.D : nullptr;
  T* dv = grads.dv != nullptr ? grads.dv + first * a.Dv : nullptr;
  if (dk != nullptr) clear(dk, all_cols * a.D);
  if (dv != nullptr) clear(dv, all_cols * a.Dv);
  for (int64_t h = kv_head * group; h < (kv_head + 1) * group; ++h) {
    T* dcol = grads.dcol_bias != nullptr
                  ? grads.dcol_bias + ((b * a.H + h) * a.Lk + j0) * a.col_count
                  : nullptr;
    if (dcol != nullptr) clear(dcol, all_cols * a.col_count);
    const int64_t first_query = first_query_block(args, b, j0);
    a = widened_operands(args, b, h, first_query, args.Lq, j0, j0 + all_cols, tile);
    const auto add_group = [&](int64_t i0, int64_t rows) {
      const auto visible = a.visible(b, i0, i0 + rows);
      if (visible.end <= j0 || visible.begin >= j0 + all_cols) return;
      // The gradients of the scores of later keys are 0, but these keys may have arbitrary values,
      // which must not be multiplied by 0.
      const int64_t cols = HWY_MIN(all_cols, visible.end - j0);
      compute_tile(a, grads, b, h, i0, rows, j0, cols, tile);
      for (int64_t r = 0; dcol != nullptr && r < rows; ++r) {
        for (int64_t c = 0; c < cols; ++c) {
          dcol[c * a.col_count + a.col_index[(i0 + r) * a.Lk + j0 + c]] +=
              tile.ds[r * kKeyBlock + c];
        }
      }
      if (dv != nullptr) {
        kernels::gemm({.m = cols,
                       .n = a.Dv,
                       .k = rows,
                       .a = {tile.p, 1, kKeyBlock},
                       .b = {grads.g + a.query_row(b, h, i0) * a.Dv, a.Dv, 1},
                       .c = dv,
                       .c_stride = a.Dv,
                       .accumulate = true,
                       .engine = a.engine},
                      tile.gemm_scratch);
      }
      if (dk != nullptr || add_queries) differentiate_soft_cap(a, rows, cols, tile);
      if (dk != nullptr) {
        kernels::gemm({.m = cols,
                       .n = a.D,
                       .k = rows,
                       .a = {tile.ds, 1, kKeyBlock},
                       .b = {a.query(b, h, i0), a.D, 1},
                       .c = dk,
                       .c_stride = a.D,
                       .accumulate = true,
                       .engine = a.engine},
                      tile.gemm_scratch);
      }
      if (add_queries) {
        add_to_queries(a, b, h, rows, j0, cols, tile, grads.dq + a.query_row(b, h, i0) * a.D);
      }
    };
    for (int64_t i = first_query; i < a.Lq; i += kQueryBlock) {
      if (a.visible(b, i).begin >= j0 + all_cols) break;
      for_groups(a, b, i, add_group);
    }
  }
  if (dk != nullptr) row_scale(dk, all_cols * a.D, a.scale, dk);
}

template <class T>
void heads(const AttentionArgs<T>& a, const AttentionGrads<T>& grads, int64_t b, int64_t kv_head,
           std::byte* scratch) {
  const int64_t group = a.H / a.Hkv, count = group * a.Lq * a.D;
  T* dq = grads.dq + a.query_row(b, kv_head * group, 0) * a.D;
  clear(dq, count);
  for (int64_t j0 = 0; j0 < a.Lk; j0 += kKeyBlock) keys(a, grads, b, kv_head, j0, true, scratch);
  row_scale(dq, count, a.scale, dq);
}

template <class T>
void scores(const AttentionArgs<T>& args, const AttentionGrads<T>& grads, int64_t b, int64_t h,
            int64_t i0, int64_t i1, int64_t j0, int64_t j1, T* dbias, T* doffset,
            std::byte* scratch) {
  const auto visible = args.visible(b, i0, i1);
  if (visible.end <= j0 || visible.begin >= j1) return;
  const Tile<T> tile(args, scratch);
  const AttentionArgs<T> a = widened_operands(args, b, h, i0, i1, j0, j1, tile);
  compute_tile(a, grads, b, h, i0, i1 - i0, j0, j1 - j0, tile);
  for (int64_t i = i0; i < i1; ++i) {
    const T* ds = tile.ds + (i - i0) * kKeyBlock;
    if (dbias != nullptr) {
      const ScoreStrides& t = a.bias_strides;
      T* row = dbias + b * t.b + h * t.h + i * t.i;
      if (t.j == 0) {
        row[0] += static_cast<T>(row_sum(ds, j1 - j0));
      } else {
        for (int64_t j = j0; j < j1; ++j) row[j] += ds[j - j0];
      }
    }
    if (doffset != nullptr) {
      T* row = doffset + a.offset_origin(b, i);
      for (int64_t j = j0; j < j1; ++j) row[j] += ds[j - j0];
    }
  }
}

// The dispatch tables require one plain function per element type.
void delta_f32(const AttentionArgs<float>& a, const AttentionGrads<float>& grads, int64_t begin,
               int64_t end, std::byte* scratch) {
  delta_rows(a, grads, begin, end, scratch);
}
void delta_f64(const AttentionArgs<double>& a, const AttentionGrads<double>& grads, int64_t begin,
               int64_t end, std::byte* scratch) {
  delta_rows(a, grads, begin, end, scratch);
}
void norms_f32(const AttentionArgs<float>& a, const AttentionGrads<float>& grads, int64_t b,
               int64_t h, int64_t i0, std::byte* scratch) {
  for_groups(a, b, i0, [&](int64_t i, int64_t rows) { norms(a, grads, b, h, i, rows, scratch); });
}
void norms_f64(const AttentionArgs<double>& a, const AttentionGrads<double>& grads, int64_t b,
               int64_t h, int64_t i0, std::byte* scratch) {
  for_groups(a, b, i0, [&](int64_t i, int64_t rows) { norms(a, grads, b, h, i, rows, scratch); });
}
void queries_f32(const AttentionArgs<float>& a, const AttentionGrads<float>& grads, int64_t b,
                 int64_t h, int64_t i0, std::byte* scratch) {
  for_groups(a, b, i0, [&](int64_t i, int64_t rows) { queries(a, grads, b, h, i, rows, scratch); });
}
void queries_f64(const AttentionArgs<double>& a, const AttentionGrads<double>& grads, int64_t b,
                 int64_t h, int64_t i0, std::byte* scratch) {
  for_groups(a, b, i0, [&](int64_t i, int64_t rows) { queries(a, grads, b, h, i, rows, scratch); });
}
void keys_f32(const AttentionArgs<float>& a, const AttentionGrads<float>& grads, int64_t b,
              int64_t kv_head, int64_t j0, std::byte* scratch) {
  keys(a, grads, b, kv_head, j0, false, scratch);
}
void keys_f64(const AttentionArgs<double>& a, const AttentionGrads<double>& grads, int64_t b,
              int64_t kv_head, int64_t j0, std::byte* scratch) {
  keys(a, grads, b, kv_head, j0, false, scratch);
}
void heads_f32(const AttentionArgs<float>& a, const AttentionGrads<float>& grads, int64_t b,
               int64_t kv_head, std::byte* scratch) {
  heads(a, grads, b, kv_head, scratch);
}
void heads_f64(const AttentionArgs<double>& a, const AttentionGrads<double>& grads, int64_t b,
               int64_t kv_head, std::byte* scratch) {
  heads(a, grads, b, kv_head, scratch);
}
void scores_f32(const AttentionArgs<float>& a, const AttentionGrads<float>& grads, int64_t b,
                int64_t h, int64_t i0, int64_t i1, int64_t j0, int64_t j1, float* dbias,
                float* doffset, std::byte* scratch) {
  scores(a, grads, b, h, i0, i1, j0, j1, dbias, doffset, scratch);
}
void scores_f64(const AttentionArgs<double>& a, const AttentionGrads<double>& grads, int64_t b,
                int64_t h, int64_t i0, int64_t i1, int64_t j0, int64_t j1, double* dbias,
                double* doffset, std::byte* scratch) {
  scores(a, grads, b, h, i0, i1, j0, j1, dbias, doffset, scratch);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {
HWY_EXPORT(delta_f32);
HWY_EXPORT(delta_f64);
HWY_EXPORT(norms_f32);
HWY_EXPORT(norms_f64);
HWY_EXPORT(queries_f32);
HWY_EXPORT(queries_f64);
HWY_EXPORT(keys_f32);
HWY_EXPORT(keys_f64);
HWY_EXPORT(heads_f32);
HWY_EXPORT(heads_f64);
HWY_EXPORT(scores_f32);
HWY_EXPORT(scores_f64);
}  // namespace

void attention_delta(const AttentionArgs<float>& args, const AttentionGrads<float>& grads,
                     std::int64_t begin, std::int64_t end, std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(delta_f32)(args, grads, begin, end, scratch);
}
void attention_delta(const AttentionArgs<double>& args, const AttentionGrads<double>& grads,
                     std::int64_t begin, std::int64_t end, std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(delta_f64)(args, grads, begin, end, scratch);
}
void attention_norms(const AttentionArgs<float>& args, const AttentionGrads<float>& grads,
                     std::int64_t b, std::int64_t h, std::int64_t i0, std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(norms_f32)(args, grads, b, h, i0, scratch);
}
void attention_norms(const AttentionArgs<double>& args, const AttentionGrads<double>& grads,
                     std::int64_t b, std::int64_t h, std::int64_t i0, std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(norms_f64)(args, grads, b, h, i0, scratch);
}
void attention_grad_queries(const AttentionArgs<float>& args, const AttentionGrads<float>& grads,
                            std::int64_t b, std::int64_t h, std::int64_t i0, std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(queries_f32)(args, grads, b, h, i0, scratch);
}
void attention_grad_queries(const AttentionArgs<double>& args, const AttentionGrads<double>& grads,
                            std::int64_t b, std::int64_t h, std::int64_t i0, std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(queries_f64)(args, grads, b, h, i0, scratch);
}
void attention_grad_keys(const AttentionArgs<float>& args, const AttentionGrads<float>& grads,
                         std::int64_t b, std::int64_t kv_head, std::int64_t j0,
                         std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(keys_f32)(args, grads, b, kv_head, j0, scratch);
}
void attention_grad_keys(const AttentionArgs<double>& args, const AttentionGrads<double>& grads,
                         std::int64_t b, std::int64_t kv_head, std::int64_t j0,
                         std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(keys_f64)(args, grads, b, kv_head, j0, scratch);
}
void attention_grad_heads(const AttentionArgs<float>& args, const AttentionGrads<float>& grads,
                          std::int64_t b, std::int64_t kv_head, std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(heads_f32)(args, grads, b, kv_head, scratch);
}
void attention_grad_heads(const AttentionArgs<double>& args, const AttentionGrads<double>& grads,
                          std::int64_t b, std::int64_t kv_head, std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(heads_f64)(args, grads, b, kv_head, scratch);
}
void attention_grad_scores(const AttentionArgs<float>& args, const AttentionGrads<float>& grads,
                           std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1,
                           std::int64_t j0, std::int64_t j1, float* dbias, float* doffset,
                           std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(scores_f32)(args, grads, b, h, i0, i1, j0, j1, dbias, doffset, scratch);
}
void attention_grad_scores(const AttentionArgs<double>& args, const AttentionGrads<double>& grads,
                           std::int64_t b, std::int64_t h, std::int64_t i0, std::int64_t i1,
                           std::int64_t j0, std::int64_t j1, double* dbias, double* doffset,
                           std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(scores_f64)(args, grads, b, h, i0, i1, j0, j1, dbias, doffset, scratch);
}

}  // namespace weft
#endif
