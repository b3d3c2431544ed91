#include "weft/ops/kernels/elementwise/sum_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/elementwise/sum_rows.cc"
#include "hwy/foreach_target.h"
// foreach_target.h must be included before the header below.
#include "weft/ops/kernels/exact-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

using kernels::SumOperand;

template <class T>
void sum_rows_of(const std::byte* c, ptrdiff_t c_stride, const SumOperand* operands, size_t count,
                 bool relu, std::byte* out, ptrdiff_t out_stride, int64_t rows, int64_t columns) {
  const Full<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const T* row[kernels::kMaxSumOperands];
  for (int64_t r = 0; r < rows; ++r) {
    const T* const in = elements<T>(c + r * c_stride);
    T* const to = elements<T>(out + r * out_stride);
    for (size_t i = 0; i < count; ++i) {
      row[i] =
          elements<T>(static_cast<const std::byte*>(operands[i].data) + r * operands[i].row_stride);
    }
    const auto sum = [&](auto v, auto load) HWY_ATTR {
      for (size_t i = 0; i < count; ++i) {
        const auto value = [&](size_t k) HWY_ATTR {
          return operands[k].is_single ? hn::Set(d, *row[k]) : load(row[k]);
        };
        auto term = value(i);
        if (operands[i].joins_next) term = hn::Add(term, value(++i));
        v = hn::Add(v, term);
      }
      return relu ? Relu()(d, v) : v;
    };
    int64_t j = 0;
    for (; j + lanes <= columns; j += lanes) {
      const auto load = [&](const T* at) HWY_ATTR { return hn::LoadU(d, at + j); };
      hn::StoreU(sum(load(in), load), d, to + j);
    }
    if (j == columns) continue;
    const auto left = static_cast<size_t>(columns - j);
    const auto load = [&](const T* at) HWY_ATTR { return load_part(d, at + j, left); };
    store_part(sum(load(in), load), d, to + j, left);
  }
}

void sum_rows_f32(const void* c, ptrdiff_t c_stride, const SumOperand* operands, size_t count,
                  bool relu, void* out, ptrdiff_t out_stride, int64_t rows, int64_t columns) {
  sum_rows_of<float>(elements<std::byte>(c), c_stride, operands, count, relu,
                     elements<std::byte>(out), out_stride, rows, columns);
}
void sum_rows_f64(const void* c, ptrdiff_t c_stride, const SumOperand* operands, size_t count,
                  bool relu, void* out, ptrdiff_t out_stride, int64_t rows, int64_t columns) {
  sum_rows_of<double>(elements<std::byte>(c), c_stride, operands, count, relu,
                      elements<std::byte>(out), out_stride, rows, columns);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
namespace {
HWY_EXPORT(sum_rows_f32);
HWY_EXPORT(sum_rows_f64);
}  // namespace

namespace kernels {
void sum_rows(DType dtype, const void* c, std::ptrdiff_t c_stride, const SumOperand* operands,
              std::size_t count, bool relu, void* out, std::ptrdiff_t out_stride, std::int64_t rows,
              std::int64_t columns) {
  (dtype == DType::f64 ? HWY_DYNAMIC_DISPATCH(sum_rows_f64) : HWY_DYNAMIC_DISPATCH(sum_rows_f32))(
      c, c_stride, operands, count, relu, out, out_stride, rows, columns);
}
}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE
