#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/reductions/reduce.cc"
#include <hwy/foreach_target.h>  // IWYU pragma: keep
// foreach_target.h must be included before the headers below.
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "weft/ops/kernels/reductions/reduce.h"
#include "weft/ops/kernels/reductions/short_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using weft::HWY_NAMESPACE::fold_vectors;
using weft::HWY_NAMESPACE::is_short_row;
using weft::HWY_NAMESPACE::kShortRow;
using weft::HWY_NAMESPACE::RowVectors;

template <class T>
constexpr T kInf = std::numeric_limits<T>::infinity();

// A reduction is defined by its neutral element, its vector step and its scalar step.
struct SumOp {
  template <class T>
  static T identity() {
    return T(0);
  }
  template <class D, class V>
  static HWY_INLINE V combine(D, V a, V b) {
    return hn::Add(a, b);
  }
  template <class T>
  static T combine1(T a, T b) {
    return a + b;
  }
};
struct ProdOp {
  template <class T>
  static T identity() {
    return T(1);
  }
  template <class D, class V>
  static HWY_INLINE V combine(D, V a, V b) {
    return hn::Mul(a, b);
  }
  template <class T>
  static T combine1(T a, T b) {
    return a * b;
  }
};
// Instruction sets differ in how min and max treat NaN, so explicit selects are used.
struct MaxOp {
  template <class T>
  static T identity() {
    return -kInf<T>;
  }
  template <class D, class V>
  static HWY_INLINE V combine(D, V a, V b) {
    return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, hn::Max(a, b)));
  }
  template <class T>
  static T combine1(T a, T b) {
    return (a > b || std::isnan(a)) ? a : b;
  }
};
struct MinOp {
  template <class T>
  static T identity() {
    return kInf<T>;
  }
  template <class D, class V>
  static HWY_INLINE V combine(D, V a, V b) {
    return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::IsNaN(b), b, hn::Min(a, b)));
  }
  template <class T>
  static T combine1(T a, T b) {
    return (a < b || std::isnan(a)) ? a : b;
  }
};

struct Plain {
  template <class D, class V>
  HWY_INLINE V operator()(D, V x) const {
    return x;
  }
};
// Computes exp(x - shift), for logsumexp.
template <class V>
struct ShiftedExp {
  V shift;
  template <class D>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::Exp(d, hn::Sub(x, shift));
  }
};

template <class Op, class D, class V>
HWY_INLINE hn::TFromD<D> fold_lanes(D d, V v) {
  using T = hn::TFromD<D>;
  HWY_ALIGN T lanes[hn::MaxLanes(d)];
  hn::Store(v, d, lanes);
  for (std::size_t width = hn::Lanes(d) / 2; width > 0; width /= 2) {
    for (std::size_t i = 0; i < width; ++i) {
      lanes[i] = Op::template combine1<T>(lanes[i], lanes[i + width]);
    }
  }
  return lanes[0];
}

// Reduces n contiguous elements with four accumulators.
template <class Op, class D, class Transform>
HWY_INLINE hn::TFromD<D> reduce_run(D d, const hn::TFromD<D>* x, std::int64_t n,
                                    const Transform& transform) {
  using T = hn::TFromD<D>;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto identity = hn::Set(d, Op::template identity<T>());
  auto a0 = identity, a1 = identity, a2 = identity, a3 = identity;
  std::int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a0 = Op::combine(d, a0, transform(d, hn::LoadU(d, x + i)));
    a1 = Op::combine(d, a1, transform(d, hn::LoadU(d, x + i + lanes)));
    a2 = Op::combine(d, a2, transform(d, hn::LoadU(d, x + i + 2 * lanes)));
    a3 = Op::combine(d, a3, transform(d, hn::LoadU(d, x + i + 3 * lanes)));
  }
  for (; i + lanes <= n; i += lanes) {
    a0 = Op::combine(d, a0, transform(d, hn::LoadU(d, x + i)));
  }
  if (i < n) {
    HWY_ALIGN T rest[hn::MaxLanes(d)] = {};
    std::memcpy(rest, x + i, static_cast<std::size_t>(n - i) * sizeof(T));
    const auto v = transform(d, hn::Load(d, rest));
    const auto mask = hn::FirstN(d, static_cast<std::size_t>(n - i));
    a1 = Op::combine(d, a1, hn::IfThenElse(mask, v, identity));
  }
  return fold_lanes<Op>(d, Op::combine(d, Op::combine(d, a0, a1), Op::combine(d, a2, a3)));
}

template <class D, class Transform>
HWY_INLINE double sum_run(D d, const hn::TFromD<D>* x, std::int64_t n, const Transform& transform) {
  double total = 0;
  for (std::int64_t i = 0; i < n; i += kReduceBlock) {
    const std::int64_t size = n - i < kReduceBlock ? n - i : kReduceBlock;
    total += static_cast<double>(reduce_run<SumOp>(d, x + i, size, transform));
  }
  return total;
}

// Reduces block by block in the element type.
template <class Op, class D>
HWY_INLINE hn::TFromD<D> block_run(D d, const hn::TFromD<D>* x, std::int64_t n) {
  using T = hn::TFromD<D>;
  T total = reduce_run<Op>(d, x, n < kReduceBlock ? n : kReduceBlock, Plain());
  for (std::int64_t i = kReduceBlock; i < n; i += kReduceBlock) {
    const std::int64_t size = n - i < kReduceBlock ? n - i : kReduceBlock;
    total = Op::template combine1<T>(total, reduce_run<Op>(d, x + i, size, Plain()));
  }
  return total;
}

// Reduces Lanes(d) rows of n elements, 1 <= n <= kShortRow. load(i) returns element i of each row.
// The order of operations for each row is the same as in reduce_run().
template <class Op, class D, class Load>
HWY_INLINE hn::Vec<D> reduce_short_rows(D d, std::int64_t n, const Load& load) {
  using V = hn::Vec<D>;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const V identity = hn::Set(d, Op::template identity<hn::TFromD<D>>());
  V folded[kShortRow];
  std::int64_t count = n;
  if (n <= lanes) {
    for (std::int64_t i = 0; i < n; ++i) folded[i] = load(i);
  } else {
    count = lanes;  // vectors with fewer lanes than the row has elements: several elements per lane
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      V a[4] = {identity, identity, identity, identity};
      std::int64_t i = 0;
      for (; i + 4 * lanes <= n; i += 4 * lanes) {
        for (std::int64_t k = 0; k < 4; ++k)
          a[k] = Op::combine(d, a[k], load(i + k * lanes + lane));
      }
      for (; i + lanes <= n; i += lanes) a[0] = Op::combine(d, a[0], load(i + lane));
      if (i + lane < n) a[1] = Op::combine(d, a[1], load(i + lane));
      folded[lane] = Op::combine(d, Op::combine(d, a[0], a[1]), Op::combine(d, a[2], a[3]));
    }
  }
  // A sum of negative zeros is 0, as if it had begun with the identity.
  return Op::combine(d, identity, fold_vectors<Op>(d, folded, count));
}

// The exponentials of logsumexp for rows in different lanes.
template <class D>
struct ShiftedExpOf {
  const RowVectors<D>& rows;
  hn::Vec<D> shift;
  HWY_INLINE hn::Vec<D> operator()(std::int64_t i) const {
    return hn::Exp(D(), hn::Sub(rows(i), shift));
  }
};

// Reduces all whole vectors of short rows and returns the number of their rows.
template <class T>
HWY_INLINE std::int64_t short_rows(Reduction kind, const T* x, std::int64_t rows,
                                   std::int64_t row_stride, std::int64_t n, double divisor,
                                   T* out) {
  const hn::ScalableTag<T> d;
  using D = hn::ScalableTag<T>;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  // Dividing in T gives the same bits as dividing in double and rounding, if T represents the
  // divisor.
  const T by = static_cast<T>(divisor);
  if (rows < lanes || !is_short_row(n, row_stride) || static_cast<double>(by) != divisor) return 0;
  RowVectors<D> vectors(d, x, row_stride);
  std::int64_t r = 0;
  for (; r + lanes <= rows; r += lanes) {
    vectors.x = x + r * row_stride;
    hn::Vec<D> result;
    switch (kind) {
      case Reduction::max: result = reduce_short_rows<MaxOp>(d, n, vectors); break;
      case Reduction::min: result = reduce_short_rows<MinOp>(d, n, vectors); break;
      case Reduction::prod: result = reduce_short_rows<ProdOp>(d, n, vectors); break;
      case Reduction::logsumexp: {
        const auto top = reduce_short_rows<MaxOp>(d, n, vectors);
        const auto finite = hn::IsFinite(top);
        const ShiftedExpOf<D> terms{vectors, hn::IfThenElseZero(finite, top)};
        HWY_ALIGN T sums[hn::MaxLanes(d)];
        HWY_ALIGN T tops[hn::MaxLanes(d)];
        hn::Store(reduce_short_rows<SumOp>(d, n, terms), d, sums);
        hn::Store(top, d, tops);
        for (std::int64_t i = 0; i < lanes; ++i) {
          const double sum = static_cast<double>(sums[i]);
          out[r + i] = std::isfinite(tops[i])
                           ? static_cast<T>(static_cast<double>(tops[i]) + std::log(sum))
                           : tops[i];
        }
        continue;
      }
      default: result = hn::Div(reduce_short_rows<SumOp>(d, n, vectors), hn::Set(d, by)); break;
    }
    hn::StoreU(result, d, out + r);
  }
  return r;
}

template <class T>
HWY_INLINE void rows_impl(Reduction kind, const T* x, std::int64_t rows, std::int64_t row_stride,
                          std::int64_t n, double divisor, T* out) {
  const hn::ScalableTag<T> d;
  std::int64_t r = short_rows(kind, x, rows, row_stride, n, divisor, out);
  x += r * row_stride;
  for (; r < rows; ++r, x += row_stride) {
    switch (kind) {
      case Reduction::max: out[r] = block_run<MaxOp>(d, x, n); break;
      case Reduction::min: out[r] = block_run<MinOp>(d, x, n); break;
      case Reduction::prod: out[r] = block_run<ProdOp>(d, x, n); break;
      case Reduction::logsumexp: {
        const T top = reduce_run<MaxOp>(d, x, n, Plain());
        if (!std::isfinite(top)) {
          out[r] = top;
        } else {
          const ShiftedExp<hn::Vec<decltype(d)>> transform{hn::Set(d, top)};
          out[r] = static_cast<T>(static_cast<double>(top) + std::log(sum_run(d, x, n, transform)));
        }
        break;
      }
      default: out[r] = static_cast<T>(sum_run(d, x, n, Plain()) / divisor); break;
    }
  }
}

void RowsF32(Reduction kind, const float* x, std::int64_t rows, std::int64_t row_stride,
             std::int64_t n, double divisor, float* out) {
  rows_impl(kind, x, rows, row_stride, n, divisor, out);
}
void RowsF64(Reduction kind, const double* x, std::int64_t rows, std::int64_t row_stride,
             std::int64_t n, double divisor, double* out) {
  rows_impl(kind, x, rows, row_stride, n, divisor, out);
}

constexpr std::int64_t kPairwiseLeaf = 64;

// Reduces one vector of columns pairwise over the rows.
template <class Op, class D, class Transform>
hn::Vec<D> strip(D d, const hn::TFromD<D>* x, std::int64_t stride, std::int64_t n,
                 const Transform& transform) {
  if (n > kPairwiseLeaf) {
    const std::int64_t half = n / 2;
    const auto a = strip<Op>(d, x, stride, half, transform);
    const auto b = strip<Op>(d, x + half * stride, stride, n - half, transform);
    return Op::combine(d, a, b);
  }
  auto acc = hn::Set(d, Op::template identity<hn::TFromD<D>>());
  for (std::int64_t r = 0; r < n; ++r) {
    acc = Op::combine(d, acc, transform(d, hn::LoadU(d, x + r * stride)));
  }
  return acc;
}

// Reduces four vectors of columns at once. The order of operations for each column is the same as
// in strip().
template <class Op, class D, class V>
void wide_strip(D d, const hn::TFromD<D>* x, std::int64_t stride, std::int64_t n, V& a0, V& a1,
                V& a2, V& a3) {
  const std::size_t lanes = hn::Lanes(d);
  a0 = a1 = a2 = a3 = hn::Set(d, Op::template identity<hn::TFromD<D>>());
  if (n > kPairwiseLeaf) {
    const std::int64_t half = n / 2;
    V b0, b1, b2, b3;
    wide_strip<Op>(d, x, stride, half, a0, a1, a2, a3);
    wide_strip<Op>(d, x + half * stride, stride, n - half, b0, b1, b2, b3);
    a0 = Op::combine(d, a0, b0);
    a1 = Op::combine(d, a1, b1);
    a2 = Op::combine(d, a2, b2);
    a3 = Op::combine(d, a3, b3);
    return;
  }
  for (std::int64_t r = 0; r < n; ++r, x += stride) {
    a0 = Op::combine(d, a0, hn::LoadU(d, x));
    a1 = Op::combine(d, a1, hn::LoadU(d, x + lanes));
    a2 = Op::combine(d, a2, hn::LoadU(d, x + 2 * lanes));
    a3 = Op::combine(d, a3, hn::LoadU(d, x + 3 * lanes));
  }
}

template <class D>
hn::Vec<D> logsumexp_strip(D d, const hn::TFromD<D>* x, std::int64_t stride, std::int64_t n) {
  const auto top = strip<MaxOp>(d, x, stride, n, Plain());
  const auto finite = hn::IsFinite(top);
  const ShiftedExp<hn::Vec<D>> transform{hn::IfThenElseZero(finite, top)};
  const auto sum = strip<SumOp>(d, x, stride, n, transform);
  // If all elements are -inf, the sum is 0 and its logarithm is not used.
  return hn::IfThenElse(finite, hn::Add(top, hn::Log(d, sum)), top);
}

template <class Op, class D>
HWY_INLINE hn::Vec<D> column_strip(D d, bool logsumexp, const hn::TFromD<D>* x, std::int64_t stride,
                                   std::int64_t n) {
  return logsumexp ? logsumexp_strip(d, x, stride, n) : strip<Op>(d, x, stride, n, Plain());
}

template <class Op, class T>
HWY_INLINE void columns_op(bool logsumexp, const T* x, std::int64_t stride, std::int64_t n,
                           std::int64_t width, double divisor, T* out) {
  const hn::ScalableTag<T> d;
  const std::int64_t lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto by = hn::Set(d, static_cast<T>(divisor));
  std::int64_t j = 0;
  for (; !logsumexp && j + 4 * lanes <= width; j += 4 * lanes) {
    hn::Vec<decltype(d)> a0, a1, a2, a3;
    wide_strip<Op>(d, x + j, stride, n, a0, a1, a2, a3);
    hn::StoreU(hn::Div(a0, by), d, out + j);
    hn::StoreU(hn::Div(a1, by), d, out + j + lanes);
    hn::StoreU(hn::Div(a2, by), d, out + j + 2 * lanes);
    hn::StoreU(hn::Div(a3, by), d, out + j + 3 * lanes);
  }
  for (; j + lanes <= width; j += lanes) {
    hn::StoreU(hn::Div(column_strip<Op>(d, logsumexp, x + j, stride, n), by), d, out + j);
  }
  if (j == width) return;
  if (width >= lanes) {  // the last vector may overlap the previous one
    j = width - lanes;
    hn::StoreU(hn::Div(column_strip<Op>(d, logsumexp, x + j, stride, n), by), d, out + j);
    return;
  }
  // There are fewer columns than lanes. Copy blocks of rows to a wider buffer, so that no load
  // reads outside the tensor.
  const std::size_t max_lanes = hn::MaxLanes(d);
  HWY_ALIGN T rows[kPairwiseLeaf * hn::MaxLanes(d)] = {};
  HWY_ALIGN T total[2 * hn::MaxLanes(d)] = {};
  const std::size_t bytes = static_cast<std::size_t>(width) * sizeof(T);
  const std::int64_t pitch = static_cast<std::int64_t>(max_lanes);
  auto acc = hn::Set(d, logsumexp ? -kInf<T> : Op::template identity<T>());
  for (std::int64_t begin = 0; begin < n; begin += kPairwiseLeaf) {
    const std::int64_t size = n - begin < kPairwiseLeaf ? n - begin : kPairwiseLeaf;
    for (std::int64_t r = 0; r < size; ++r) {
      std::memcpy(rows + r * pitch, x + (begin + r) * stride, bytes);
    }
    const auto block = column_strip<Op>(d, logsumexp, rows, pitch, size);
    if (logsumexp) {
      hn::Store(acc, d, total);
      hn::Store(block, d, total + max_lanes);
      acc = logsumexp_strip(d, total, pitch, 2);
    } else {
      acc = Op::combine(d, acc, block);
    }
  }
  hn::Store(hn::Div(acc, by), d, total);
  std::memcpy(out, total, bytes);
}

template <class T>
HWY_INLINE void columns_impl(Reduction kind, const T* x, std::int64_t stride, std::int64_t n,
                             std::int64_t width, double divisor, T* out) {
  switch (kind) {
    case Reduction::max: return columns_op<MaxOp>(false, x, stride, n, width, 1, out);
    case Reduction::min: return columns_op<MinOp>(false, x, stride, n, width, 1, out);
    case Reduction::prod: return columns_op<ProdOp>(false, x, stride, n, width, 1, out);
    case Reduction::logsumexp: return columns_op<SumOp>(true, x, stride, n, width, 1, out);
    default: return columns_op<SumOp>(false, x, stride, n, width, divisor, out);
  }
}

void ColumnsF32(Reduction kind, const float* x, std::int64_t stride, std::int64_t n,
                std::int64_t width, double divisor, float* out) {
  columns_impl(kind, x, stride, n, width, divisor, out);
}
void ColumnsF64(Reduction kind, const double* x, std::int64_t stride, std::int64_t n,
                std::int64_t width, double divisor, double* out) {
  columns_impl(kind, x, stride, n, width, divisor, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace weft::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft::kernels {

HWY_EXPORT(RowsF32);
HWY_EXPORT(RowsF64);
HWY_EXPORT(ColumnsF32);
HWY_EXPORT(ColumnsF64);

void reduce_rows(Reduction kind, DType dtype, const void* x, std::int64_t rows,
                 std::int64_t row_stride, std::int64_t length, double divisor, void* out) {
  if (dtype == DType::f32) {
    HWY_DYNAMIC_DISPATCH(RowsF32)
    (kind, static_cast<const float*>(x), rows, row_stride, length, divisor,
     static_cast<float*>(out));
  } else if (dtype == DType::f64) {
    HWY_DYNAMIC_DISPATCH(RowsF64)
    (kind, static_cast<const double*>(x), rows, row_stride, length, divisor,
     static_cast<double*>(out));
  } else {
    reduce_integers(kind, dtype, x, rows, row_stride, length, 1, out);
  }
}

void reduce_columns(Reduction kind, DType dtype, const void* x, std::int64_t row_stride,
                    std::int64_t length, std::int64_t width, double divisor, void* out) {
  if (dtype == DType::f32) {
    HWY_DYNAMIC_DISPATCH(ColumnsF32)
    (kind, static_cast<const float*>(x), row_stride, length, width, divisor,
     static_cast<float*>(out));
  } else if (dtype == DType::f64) {
    HWY_DYNAMIC_DISPATCH(ColumnsF64)
    (kind, static_cast<const double*>(x), row_stride, length, width, divisor,
     static_cast<double*>(out));
  } else {
    reduce_integers(kind, dtype, x, width, 1, length, row_stride, out);
  }
}

void BlockReduction::add(const void* block, std::int64_t length) {
  // The result of a block is a value of the element type, which is exactly representable in double.
  double result = 0;
  if (dtype_ == DType::f32) {
    float value = 0;
    reduce_rows(kind_, dtype_, block, 1, length, length, 1, &value);
    result = static_cast<double>(value);
  } else {
    reduce_rows(kind_, dtype_, block, 1, length, length, 1, &result);
  }
  const double before = total_;
  bool keep = false;
  switch (kind_) {
    case Reduction::max: keep = before > result || std::isnan(before); break;
    case Reduction::min: keep = before < result || std::isnan(before); break;
    case Reduction::prod:
      if (empty_) break;
      result = dtype_ == DType::f32
                   ? static_cast<double>(static_cast<float>(before) * static_cast<float>(result))
                   : before * result;
      break;
    default: result = before + result; break;
  }
  if (empty_ || !keep) total_ = result;
  empty_ = false;
}

void BlockReduction::finish(double divisor, void* out) const {
  const double result = kind_ == Reduction::sum ? total_ / divisor : total_;
  if (dtype_ == DType::f32) {
    const auto value = static_cast<float>(result);
    std::memcpy(out, &value, sizeof(value));
  } else {
    std::memcpy(out, &result, sizeof(result));
  }
}

}  // namespace weft::kernels
#endif  // HWY_ONCE
