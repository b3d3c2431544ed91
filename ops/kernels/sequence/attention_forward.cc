#include <math.h>

#include <algorithm>
#include <type_traits>

#include "weft/ops/kernels/sequence/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/sequence/attention_forward.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/sequence/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

/// The number of keys per block that several heads process in turn. A multiple of the 4 keys that
/// single_query_scores() processes together.
constexpr int64_t kSharedKeys = 64;

/// True if keys and values may be narrow, which requires float queries. Their kernels are large.
template <class T>
constexpr bool kMayBeNarrow = std::is_same_v<T, float>;

/// Returns the number of rows of scores that a call computes at most.
template <class T>
int64_t score_rows(const AttentionArgs<T>& a) {
  return a.Lq == 1 ? heads_per_call(a) : HWY_MIN(a.Lq, kQueryBlock);
}

template <class T>
size_t score_bytes(const AttentionArgs<T>& a) {
  const int64_t stride = score_stride(a.block_keys());
  return (static_cast<size_t>((score_rows(a) + 1) * stride) * sizeof(T) + 63) / 64 * 64;
}

template <class T>
void widen_rows(const int8_t* from, int64_t rows, int64_t size, T* to) {
  for (int64_t r = 0; r < rows; ++r)
    widen_int8_row(from + r * int8_row_bytes(size), size, to + r * size);
}

/// Returns the number of bytes that a call with at most `rows` queries needs to widen them.
template <class T>
size_t query_bytes(const AttentionArgs<T>& a, int64_t rows) {
  if (!a.narrow_queries) return 0;
  return (static_cast<size_t>(rows * a.D) * sizeof(T) + 63) / 64 * 64;
}

/// Copies the keys and values that are visible to queries [i0, i1) to `wide`, and returns operands
/// that refer to the copies.
template <class T>
AttentionArgs<T> gathered_keys(const AttentionArgs<T>& a, int64_t b, int64_t h, int64_t i0,
                               int64_t i1, T* wide) {
  AttentionArgs<T> result = a;
  result.narrow = result.packed = false;
  result.narrow_k = result.narrow_v = nullptr;
  result.packed_k = result.packed_v = nullptr;
  result.k = wide;
  result.v = wide + a.most_keys() * a.D;
  result.row_keys = a.Lk;
  result.kv_rows = {};
  result.columns = 1;
  const auto keys = a.visible(b, i0, i1);
  for (int64_t j = keys.begin, part = 0; j < keys.end; j += part) {
    part = a.contiguous(j, keys.end - j);
    const int64_t from = a.key_row(b, h, j);
    T* k = wide + (j - keys.begin) * a.D;
    T* v = wide + a.most_keys() * a.D + (j - keys.begin) * a.Dv;
    if (kMayBeNarrow<T> && a.packed) {
      widen_rows(a.packed_k + from * int8_row_bytes(a.D), part, a.D, k);
      widen_rows(a.packed_v + from * int8_row_bytes(a.Dv), part, a.Dv, v);
    } else if (kMayBeNarrow<T> && a.narrow) {
      widen(a.narrow_k + from * a.D, part * a.D, k);
      widen(a.narrow_v + from * a.Dv, part * a.Dv, v);
    } else {
      std::copy_n(a.k + from * a.D, part * a.D, k);
      std::copy_n(a.v + from * a.Dv, part * a.Dv, v);
    }
  }
  if (keys.begin < keys.end) result.first_key_row = result.key_row(b, h, keys.begin);
  return result;
}

/// Normalises the scores of `count` keys from key `first`, and computes lse and dropout.
template <class T>
void normalise(const AttentionArgs<T>& a, int64_t b, int64_t h, int64_t i, int64_t first,
               int64_t count, T* row, T* factor, T* lse) {
  T max = row_max(row, count);
  if (a.sinks != nullptr) max = HWY_MAX(max, a.sinks[h]);
  const bool empty = max == negative_infinity<T>();
  const T shift = empty ? T(0) : max;
  double sum = row_sum_exp(row, count, shift, row);
  if (a.batch_invariant) sum = row_exact_sum(row, count);
  if (a.sinks != nullptr) sum += ::exp(static_cast<double>(a.sinks[h] - shift));
  const bool masked = empty && sum == 0;  // rows with NaN scores are not masked
  if (lse != nullptr) {
    lse[a.query_row(b, h, i)] =
        masked ? max : static_cast<T>(static_cast<double>(max) + ::log(sum));
  }
  if (!masked) row_scale(row, count, static_cast<T>(1 / sum), row);
  if (a.drop_below > 0) {
    attention_dropout(a, b, h, i, first, count, factor);
    row_multiply(row, factor, count);
  }
  if (a.engine != nullptr) row_drop_tiny(row, count);
}

/// Computes the product of the probabilities p of `count` keys from key `first` and their values,
/// or adds it to `target`, for `heads` heads from h.
template <class T>
void multiply_values(const AttentionArgs<T>& a, int64_t b, int64_t h, int64_t heads, int64_t i0,
                     int64_t rows, int64_t first, int64_t count, const T* p, int64_t stride,
                     bool accumulate, T* target, std::byte* gemm_scratch) {
  const int64_t end = a.columns > 1 ? a.visible(b, i0 + rows - 1).end : 0;
  for (int64_t c = 0, part = 0; c < count; c += part) {
    part = a.contiguous(first + c, count - c);
    const int64_t row = a.key_row(b, h, first + c), value = row * a.Dv;
    const bool add = accumulate || c > 0;
    if (kMayBeNarrow<T> && a.packed) {
      single_query_values(p + c, stride, heads * rows, a.packed_v + row * int8_row_bytes(a.Dv),
                          part, a.Dv, fetch_distance<int8_t>(a, b, h, first + c, end, a.Dv), target,
                          add);
    } else if (kMayBeNarrow<T> && a.narrow) {
      single_query_values(p + c, stride, heads * rows, a.narrow_v + value, part, a.Dv,
                          fetch_distance<BFloat16>(a, b, h, first + c, end, a.Dv), target, add);
    } else if (a.batch_invariant || (rows == 1 && a.engine == nullptr)) {
      single_query_values(p + c, stride, heads * rows, a.v + value, part, a.Dv,
                          fetch_distance<T>(a, b, h, first + c, end, a.Dv), target, add);
    } else {
      // Keys of other texts have probability 0. The engine adds the keys in order, so that
      // their positions make no difference; products with few columns add them in several lanes.
      const kernels::GemmEngine* engine =
          a.engine == nullptr && a.offsets ? &kernels::fma_engine(dtype_of<T>) : a.engine;
      kernels::gemm({.m = rows,
                     .n = a.Dv,
                     .k = part,
                     .a = {p + c, stride, 1},
                     .b = {a.v + value, a.Dv, 1},
                     .c = target,
                     .c_stride = a.Dv,
                     .accumulate = add,
                     .engine = engine},
                    gemm_scratch);
    }
  }
}

/// Computes whole rows of scores at a time, so that each row is normalised exactly once and the
/// product with the values is a single GEMM.
template <class T>
void forward_group(const AttentionArgs<T>& args, int64_t b, int64_t h, int64_t heads, int64_t i0,
                   int64_t i1, T* out, T* lse, std::byte* scratch) {
  const auto keys = args.visible(b, i0, i1);
  const int64_t rows = i1 - i0, count = keys.end - keys.begin, stride = score_stride(count);
  T* s = reinterpret_cast<T*>(scratch);
  T* factor = s + score_rows(args) * stride;
  std::byte* gemm_scratch = scratch + score_bytes(args);
  const bool single = args.batch_invariant || (rows == 1 && args.engine == nullptr);
  const bool gathers =
      !single && count > 0 && (args.narrow || args.contiguous(keys.begin, count) < count);
  AttentionArgs<T> copies;
  if (gathers) {
    copies = gathered_keys(args, b, h, i0, i1, reinterpret_cast<T*>(gemm_scratch));
  } else if (args.narrow_queries) {
    copies = args;
  }
  if (!single && (args.narrow || args.row_keys < args.Lk))
    gemm_scratch +=
        (static_cast<size_t>(args.most_keys() * (args.D + args.Dv)) * sizeof(T) + 63) / 64 * 64;
  if (args.narrow_queries) {
    widen_queries(copies, args.query_row(b, h, i0), heads * rows,
                  reinterpret_cast<T*>(gemm_scratch));
    gemm_scratch += query_bytes(args, score_rows(args));
  }
  const AttentionArgs<T>& a = gathers || args.narrow_queries ? copies : args;
  T* target = out + a.query_row(b, h, i0) * a.Dv;
  if (count == 0) {
    for (int64_t x = 0; x < heads * rows * a.Dv; ++x) target[x] = 0;
    for (int64_t n = 0; lse != nullptr && n < heads * rows; ++n) {
      lse[a.query_row(b, h, i0) + n] =
          a.sinks != nullptr ? a.sinks[h + n / rows] : negative_infinity<T>();
    }
    return;
  }
  // Several heads process blocks of keys and values that stay in the L1 cache, and so do the
  // queries of batch-invariant programs.
  const int64_t block = heads > 1 || args.batch_invariant ? kSharedKeys : count;
  for (int64_t c = 0; c < count; c += block) {
    attention_scores<kMayBeNarrow<T>>(a, b, h, heads, i0, rows, keys.begin + c,
                                      HWY_MIN(block, count - c), s + c, stride, gemm_scratch);
  }
  for (int64_t n = 0; n < heads * rows; ++n) {
    normalise(a, b, h + n / rows, i0 + n % rows, keys.begin, count, s + n * stride, factor, lse);
  }
  for (int64_t c = 0; c < count; c += block) {
    multiply_values(a, b, h, heads, i0, rows, keys.begin + c, HWY_MIN(block, count - c), s + c,
                    stride, c > 0, target, gemm_scratch);
  }
}

template <class T>
void forward(const AttentionArgs<T>& args, int64_t b, int64_t h, int64_t heads, int64_t i0,
             int64_t i1, T* out, T* lse, std::byte* scratch) {
  AttentionArgs<T> a = args;
  for (int64_t i = i0, end = 0; i < i1; i = end) {
    end = args.group_end(b, i, i1);
    if (args.offsets) {  // the text is searched once rather than for every query
      const auto text = args.text_of(i);
      a.text = end <= text.end ? text : typename AttentionArgs<T>::Range();
    }
    forward_group(a, b, h, heads, i, end, out, lse, scratch);
  }
}

// -- Parts of the keys of a single query ---------------------------------------------------------

template <class T>
void forward_part(const AttentionArgs<T>& args, int64_t b, int64_t h, int64_t part,
                  const AttentionParts<T>& parts, std::byte* scratch) {
  AttentionArgs<T> a = args;
  const int64_t heads = heads_per_part(a), count_of_parts = a.parts();
  if (a.narrow_queries) {
    widen_queries(a, a.query_row(b, h, 0), heads, reinterpret_cast<T*>(scratch));
    scratch += query_bytes(args, heads);
  }
  const auto keys = a.visible(b, 0, 1);
  const int64_t first = HWY_MIN(keys.end, keys.begin + part * a.part_keys());
  const int64_t count = HWY_MAX(int64_t{0}, HWY_MIN(a.part_keys(), keys.end - first));
  const int64_t stride = score_stride(a.part_keys());
  T* s = reinterpret_cast<T*>(scratch);
  const int64_t block = heads > 1 ? kSharedKeys : a.part_keys();
  for (int64_t c = 0; c < count; c += block) {
    attention_scores<kMayBeNarrow<T>>(a, b, h, heads, 0, 1, first + c, HWY_MIN(block, count - c),
                                      s + c, stride, nullptr);
  }
  for (int64_t n = 0; n < heads; ++n) {
    T* row = s + n * stride;
    const T max = count > 0 ? row_max(row, count) : negative_infinity<T>();
    const T shift = max == negative_infinity<T>() ? T(0) : max;
    T* stats = parts.stats + ((h + n) * count_of_parts + part) * 2;
    stats[0] = max;
    stats[1] = count > 0 ? static_cast<T>(row_sum_exp(row, count, shift, row)) : T(0);
  }
  T* target = parts.values + (h * count_of_parts + part * heads) * a.Dv;
  for (int64_t c = 0; c < count; c += block) {
    multiply_values(a, b, h, heads, 0, 1, first + c, HWY_MIN(block, count - c), s + c, stride,
                    c > 0, target, nullptr);
  }
}

template <class T>
void combine(const AttentionArgs<T>& a, int64_t b, int64_t h, const AttentionParts<T>& parts,
             T* out, T* lse) {
  const Full<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  const int64_t heads = heads_per_part(a), count = a.parts();
  const T* stats = parts.stats + h * count * 2;
  T max = a.sinks != nullptr ? a.sinks[h] : negative_infinity<T>();
  for (int64_t p = 0; p < count; ++p) max = HWY_MAX(max, stats[2 * p]);
  const T shift = max == negative_infinity<T>() ? T(0) : max;
  const auto weight = [&](T score) { return ::exp(static_cast<double>(score - shift)); };
  double sum = a.sinks != nullptr ? weight(a.sinks[h]) : 0;
  for (int64_t p = 0; p < count; ++p)
    sum += weight(stats[2 * p]) * static_cast<double>(stats[2 * p + 1]);
  const bool masked = max == negative_infinity<T>() && sum == 0;  // NaN scores are not masked
  const int64_t row = a.query_row(b, h, 0);
  if (lse != nullptr)
    lse[row] = masked ? max : static_cast<T>(static_cast<double>(max) + ::log(sum));
  T* to = out + row * a.Dv;
  for (int64_t x = 0; x < a.Dv; ++x) to[x] = 0;
  for (int64_t p = 0; p < count && !masked; ++p) {
    if (stats[2 * p + 1] == 0) continue;  // no key of the part is visible
    const T factor = static_cast<T>(weight(stats[2 * p]) / sum);
    const T* from = parts.values + ((h / heads * count + p) * heads + h % heads) * a.Dv;
    int64_t x = 0;
    for (; x + lanes <= a.Dv; x += lanes) {
      const auto added =
          hn::MulAdd(hn::Set(d, factor), hn::LoadU(d, from + x), hn::LoadU(d, to + x));
      hn::StoreU(added, d, to + x);
    }
    if (x == a.Dv) continue;
    const size_t rest = static_cast<size_t>(a.Dv - x);
    const auto added =
        hn::MulAdd(hn::Set(d, factor), load_part(d, from + x, rest), load_part(d, to + x, rest));
    store_part(added, d, to + x, rest);
  }
}

void part_f32(const AttentionArgs<float>& a, int64_t b, int64_t h, int64_t part,
              const AttentionParts<float>& parts, std::byte* scratch) {
  forward_part(a, b, h, part, parts, scratch);
}
void part_f64(const AttentionArgs<double>& a, int64_t b, int64_t h, int64_t part,
              const AttentionParts<double>& parts, std::byte* scratch) {
  forward_part(a, b, h, part, parts, scratch);
}
void combine_f32(const AttentionArgs<float>& a, int64_t b, int64_t h,
                 const AttentionParts<float>& parts, float* out, float* lse) {
  combine(a, b, h, parts, out, lse);
}
void combine_f64(const AttentionArgs<double>& a, int64_t b, int64_t h,
                 const AttentionParts<double>& parts, double* out, double* lse) {
  combine(a, b, h, parts, out, lse);
}

void forward_f32(const AttentionArgs<float>& a, int64_t b, int64_t h, int64_t heads, int64_t i0,
                 int64_t i1, float* out, float* lse, std::byte* scratch) {
  forward(a, b, h, heads, i0, i1, out, lse, scratch);
}
void forward_f64(const AttentionArgs<double>& a, int64_t b, int64_t h, int64_t heads, int64_t i0,
                 int64_t i1, double* out, double* lse, std::byte* scratch) {
  forward(a, b, h, heads, i0, i1, out, lse, scratch);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {
HWY_EXPORT(forward_f32);
HWY_EXPORT(forward_f64);
HWY_EXPORT(part_f32);
HWY_EXPORT(part_f64);
HWY_EXPORT(combine_f32);
HWY_EXPORT(combine_f64);
}  // namespace

template <class T>
std::int64_t heads_per_call(const AttentionArgs<T>& args) {
  if (args.Lq != 1 || args.engine != nullptr || args.Hkv == 0) return 1;
  // At least this many calls, so that they can run in parallel.
  const std::int64_t wanted = std::min<std::int64_t>(8, args.B * args.H);
  const std::int64_t group = args.H / args.Hkv;
  std::int64_t heads = std::min(group, kQueryBlock);
  while (heads > 1 && (group % heads != 0 || args.B * args.H / heads < wanted)) --heads;
  return std::max<std::int64_t>(1, heads);
}
template std::int64_t heads_per_call(const AttentionArgs<float>& args);
template std::int64_t heads_per_call(const AttentionArgs<double>& args);

template <class T>
std::int64_t heads_per_part(const AttentionArgs<T>& args) {
  const std::int64_t group = args.H / args.Hkv;
  std::int64_t heads = std::min(group, kQueryBlock);
  while (group % heads != 0) --heads;
  return heads;
}
template std::int64_t heads_per_part(const AttentionArgs<float>& args);
template std::int64_t heads_per_part(const AttentionArgs<double>& args);

template <class T>
std::size_t attention_scratch_bytes(const AttentionArgs<T>& args) {
  const auto rounded = [](std::int64_t elements) {
    return (static_cast<std::size_t>(elements) * sizeof(T) + 63) / 64 * 64;
  };
  const std::int64_t keys = args.block_keys(), stride = score_stride(keys);
  const std::int64_t query = args.narrow_queries ? args.D : 0;  // elements to widen
  if (args.parts() > 1) {
    const std::int64_t heads = heads_per_part(args);
    return rounded(heads * score_stride(args.part_keys())) + rounded(heads * query);
  }
  const bool single = args.Lq == 1 && args.engine == nullptr;
  const std::int64_t rows = single ? heads_per_call(args) : std::min(args.Lq, kQueryBlock);
  const std::size_t queries = rounded(rows * query);
  if (single) return rounded((rows + 1) * stride) + queries;
  const bool gathers = args.narrow || args.row_keys < args.Lk;
  const std::size_t wide = gathers ? rounded(args.most_keys() * (args.D + args.Dv)) : 0;
  return rounded((rows + 1) * stride) + wide + queries +
         std::max(kernels::gemm_scratch_bytes(sizeof(T), kQueryBlock, keys, args.D, args.engine),
                  kernels::gemm_scratch_bytes(sizeof(T), kQueryBlock, args.Dv, keys, args.engine));
}
template std::size_t attention_scratch_bytes(const AttentionArgs<float>& args);
template std::size_t attention_scratch_bytes(const AttentionArgs<double>& args);

template <class T>
std::size_t attention_grad_scratch_bytes(const AttentionArgs<T>& args) {
  const std::int64_t rows = (args.soft_cap > 0 ? 3 : 2) * kQueryBlock + 1;
  const std::int64_t wide = args.wide_queries() + args.wide_keys();
  const std::size_t tiles = static_cast<std::size_t>(rows * kKeyBlock + wide) * sizeof(T);
  if (args.is_empty()) return tiles;
  std::size_t products = 0;
  for (const std::int64_t width : {args.D, args.Dv}) {
    products = std::max(
        {products,
         kernels::gemm_scratch_bytes(sizeof(T), kQueryBlock, kKeyBlock, width, args.engine),
         kernels::gemm_scratch_bytes(sizeof(T), kQueryBlock, width, kKeyBlock, args.engine),
         kernels::gemm_scratch_bytes(sizeof(T), kKeyBlock, width, kQueryBlock, args.engine)});
  }
  return tiles + products;
}
template std::size_t attention_grad_scratch_bytes(const AttentionArgs<float>& args);
template std::size_t attention_grad_scratch_bytes(const AttentionArgs<double>& args);

void attention_part(const AttentionArgs<float>& args, std::int64_t b, std::int64_t h,
                    std::int64_t part, const AttentionParts<float>& parts, std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(part_f32)(args, b, h, part, parts, scratch);
}
void attention_part(const AttentionArgs<double>& args, std::int64_t b, std::int64_t h,
                    std::int64_t part, const AttentionParts<double>& parts, std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(part_f64)(args, b, h, part, parts, scratch);
}
void attention_combine(const AttentionArgs<float>& args, std::int64_t b, std::int64_t h,
                       const AttentionParts<float>& parts, float* out, float* lse) {
  HWY_DYNAMIC_DISPATCH(combine_f32)(args, b, h, parts, out, lse);
}
void attention_combine(const AttentionArgs<double>& args, std::int64_t b, std::int64_t h,
                       const AttentionParts<double>& parts, double* out, double* lse) {
  HWY_DYNAMIC_DISPATCH(combine_f64)(args, b, h, parts, out, lse);
}

void attention_forward(const AttentionArgs<float>& args, std::int64_t b, std::int64_t h,
                       std::int64_t heads, std::int64_t i0, std::int64_t i1, float* out, float* lse,
                       std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(forward_f32)(args, b, h, heads, i0, i1, out, lse, scratch);
}
void attention_forward(const AttentionArgs<double>& args, std::int64_t b, std::int64_t h,
                       std::int64_t heads, std::int64_t i0, std::int64_t i1, double* out,
                       double* lse, std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(forward_f64)(args, b, h, heads, i0, i1, out, lse, scratch);
}

}  // namespace weft
#endif
