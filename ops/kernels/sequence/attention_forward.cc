#include <math.h>

#include <algorithm>

#include "weft/ops/kernels/sequence/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/sequence/attention_forward.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/sequence/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

template <class T>
size_t score_bytes(const AttentionArgs<T>& a) {
  return (static_cast<size_t>((kQueryBlock + 1) * a.Lk) * sizeof(T) + 63) / 64 * 64;
}

template <class T>
void widen(const BFloat16* from, int64_t count, T* to) {
  const Full<T> d;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t x = 0;
  for (; x + lanes <= count; x += lanes) hn::StoreU(load_widened(d, from + x), d, to + x);
  for (; x < count; ++x) to[x] = static_cast<T>(widened(from[x]));
}

/// Converts the narrow keys and values that are visible to queries [i0, i1) to T, stores them in
/// `wide`, and returns operands that refer to them.
template <class T>
AttentionArgs<T> widened_keys(const AttentionArgs<T>& a, int64_t b, int64_t h, int64_t i0,
                              int64_t i1, T* wide) {
  const auto keys = a.visible(b, i0, i1);
  const int64_t count = keys.end - keys.begin, first = a.key_row(b, h, keys.begin);
  AttentionArgs<T> result = a;
  result.narrow = false;
  result.narrow_k = result.narrow_v = nullptr;
  result.first_key_row = first;
  result.k = wide;
  result.v = wide + a.Lk * a.D;
  if (count == 0) return result;
  widen(a.narrow_k + first * a.D, count * a.D, wide);
  widen(a.narrow_v + first * a.Dv, count * a.Dv, wide + a.Lk * a.D);
  return result;
}

/// Computes whole rows of scores at a time, so that each row is normalised exactly once and the
/// product with the values is a single GEMM.
template <class T>
void forward(const AttentionArgs<T>& args, int64_t b, int64_t h, int64_t i0, int64_t i1, T* out,
             T* lse, std::byte* scratch) {
  const int64_t rows = i1 - i0, stride = args.Lk;
  T* s = reinterpret_cast<T*>(scratch);
  T* factor = s + kQueryBlock * stride;
  std::byte* gemm_scratch = scratch + score_bytes(args);
  const bool single = rows == 1 && args.engine == nullptr;
  AttentionArgs<T> widened_args;
  if (args.narrow && !single) {
    widened_args = widened_keys(args, b, h, i0, i1, reinterpret_cast<T*>(gemm_scratch));
    gemm_scratch += (static_cast<size_t>(args.Lk * (args.D + args.Dv)) * sizeof(T) + 63) / 64 * 64;
  }
  const AttentionArgs<T>& a = args.narrow && !single ? widened_args : args;
  const auto keys = a.visible(b, i0, i1);
  const int64_t count = keys.end - keys.begin;
  T* target = out + a.query_row(b, h, i0) * a.Dv;
  if (count == 0) {
    for (int64_t x = 0; x < rows * a.Dv; ++x) target[x] = 0;
    for (int64_t r = 0; lse != nullptr && r < rows; ++r) {
      lse[a.query_row(b, h, i0 + r)] = negative_infinity<T>();
    }
    return;
  }
  attention_scores(a, b, h, i0, rows, keys.begin, count, s, stride, gemm_scratch);
  for (int64_t r = 0; r < rows; ++r) {
    T* row = s + r * stride;
    const T max = row_max(row, count);
    const bool empty = max == negative_infinity<T>();
    const double sum = row_sum_exp(row, count, empty ? T(0) : max, row);
    const bool masked = empty && sum == 0;  // rows with NaN scores are not masked
    if (lse != nullptr) {
      lse[a.query_row(b, h, i0 + r)] =
          masked ? max : static_cast<T>(static_cast<double>(max) + ::log(sum));
    }
    if (!masked) row_scale(row, count, static_cast<T>(1 / sum), row);
    if (a.drop_below > 0) {
      attention_dropout(a, b, h, i0 + r, keys.begin, count, factor);
      row_multiply(row, factor, count);
    }
    if (a.engine != nullptr) row_drop_tiny(row, count);
  }
  const int64_t first = a.key_row(b, h, keys.begin) * a.Dv;
  if (single) {
    a.narrow ? single_query_values(s, a.narrow_v + first, count, a.Dv, target)
             : single_query_values(s, a.v + first, count, a.Dv, target);
    return;
  }
  kernels::gemm({.m = rows,
                 .n = a.Dv,
                 .k = count,
                 .a = {s, stride, 1},
                 .b = {a.v + first, a.Dv, 1},
                 .c = target,
                 .c_stride = a.Dv,
                 .accumulate = false,
                 .engine = a.engine},
                gemm_scratch);
}

void forward_f32(const AttentionArgs<float>& a, int64_t b, int64_t h, int64_t i0, int64_t i1,
                 float* out, float* lse, std::byte* scratch) {
  forward(a, b, h, i0, i1, out, lse, scratch);
}
void forward_f64(const AttentionArgs<double>& a, int64_t b, int64_t h, int64_t i0, int64_t i1,
                 double* out, double* lse, std::byte* scratch) {
  forward(a, b, h, i0, i1, out, lse, scratch);
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
}  // namespace

template <class T>
std::size_t attention_scratch_bytes(const AttentionArgs<T>& args) {
  const auto rounded = [](std::int64_t elements) {
    return (static_cast<std::size_t>(elements) * sizeof(T) + 63) / 64 * 64;
  };
  const std::size_t wide = args.narrow ? rounded(args.Lk * (args.D + args.Dv)) : 0;
  return rounded((kQueryBlock + 1) * args.Lk) + wide +
         std::max(
             kernels::gemm_scratch_bytes(sizeof(T), kQueryBlock, args.Lk, args.D, args.engine),
             kernels::gemm_scratch_bytes(sizeof(T), kQueryBlock, args.Dv, args.Lk, args.engine));
}
template std::size_t attention_scratch_bytes(const AttentionArgs<float>& args);
template std::size_t attention_scratch_bytes(const AttentionArgs<double>& args);

template <class T>
std::size_t attention_grad_scratch_bytes(const AttentionArgs<T>& args) {
  const std::size_t tiles = static_cast<std::size_t>((2 * kQueryBlock + 1) * kKeyBlock) * sizeof(T);
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

void attention_forward(const AttentionArgs<float>& args, std::int64_t b, std::int64_t h,
                       std::int64_t i0, std::int64_t i1, float* out, float* lse,
                       std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(forward_f32)(args, b, h, i0, i1, out, lse, scratch);
}
void attention_forward(const AttentionArgs<double>& args, std::int64_t b, std::int64_t h,
                       std::int64_t i0, std::int64_t i1, double* out, double* lse,
                       std::byte* scratch) {
  HWY_DYNAMIC_DISPATCH(forward_f64)(args, b, h, i0, i1, out, lse, scratch);
}

}  // namespace weft
#endif
