#include <math.h>

#include <algorithm>

#include "weft/ops/kernels/attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/attention_forward.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

/// Whole rows of scores at once: a row is normalised exactly once, and the value product is one
/// GEMM.
template <class T>
void forward(const AttentionArgs<T>& a, int64_t b, int64_t h, int64_t i0, int64_t i1, T* out,
             T* lse, std::byte* scratch) {
  const int64_t rows = i1 - i0, stride = a.Lk;
  T* s = reinterpret_cast<T*>(scratch);
  T* factor = s + kQueryBlock * stride;
  std::byte* gemm_scratch =
      scratch + (static_cast<size_t>((kQueryBlock + 1) * stride) * sizeof(T) + 63) / 64 * 64;
  const auto keys = a.visible(b, i0, i1);
  const int64_t count = keys.end - keys.begin;
  T* target = out + a.query_row(b, h, i0) * a.Dv;
  if (count <= 0) {
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
    const bool masked = empty && sum == 0;  // NaN scores are no mask
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
  const T* values = a.v + a.key_row(b, h, keys.begin) * a.Dv;
  if (rows == 1 && a.engine == nullptr) {
    single_query_values(s, values, count, a.Dv, target);
    return;
  }
  kernels::gemm({.m = rows,
                 .n = a.Dv,
                 .k = count,
                 .a = {s, stride, 1},
                 .b = {values, a.Dv, 1},
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
  const std::size_t scores =
      (static_cast<std::size_t>((kQueryBlock + 1) * args.Lk) * sizeof(T) + 63) / 64 * 64;
  return scores +
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
