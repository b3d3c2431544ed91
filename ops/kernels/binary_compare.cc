#include "weft/ops/kernels/binary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/binary_compare.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

// Plain loops, which the compiler turns into vector code of this target.

using kernels::CompareOp;
using kernels::LogicalOp;
using kernels::RowOperand;

/// How elements of a dtype are compared: storage-only floats as float, bools as bytes.
template <class T>
HWY_INLINE T comparable(T x) {
  return x;
}
HWY_INLINE float comparable(BFloat16 x) { return to_float(x); }
HWY_INLINE float comparable(Float16 x) { return to_float(x); }

struct Equal {
  template <class T>
  HWY_INLINE bool operator()(T a, T b) const {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  HWY_INLINE bool operator()(T a, T b) const {
    return a != b;
  }
};
struct Less {
  template <class T>
  HWY_INLINE bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  HWY_INLINE bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Greater {
  template <class T>
  HWY_INLINE bool operator()(T a, T b) const {
    return a > b;
  }
};
struct GreaterEqual {
  template <class T>
  HWY_INLINE bool operator()(T a, T b) const {
    return a >= b;
  }
};
struct And {
  HWY_INLINE uint8_t operator()(uint8_t a, uint8_t b) const { return a & b; }
};
struct Or {
  HWY_INLINE uint8_t operator()(uint8_t a, uint8_t b) const { return a | b; }
};
struct ExclusiveOr {
  HWY_INLINE uint8_t operator()(uint8_t a, uint8_t b) const { return a ^ b; }
};

template <class T, class Op>
void loop(const Op& op, RowOperand a, RowOperand b, uint8_t* out, int64_t n) {
  const T* pa = elements<T>(a.data);
  const T* pb = elements<T>(b.data);
  if (n == 0) return;
  if (a.step == 0) {
    const auto first = comparable(pa[0]);
    for (int64_t i = 0; i < n; ++i) out[i] = op(first, comparable(pb[i]));
  } else if (b.step == 0) {
    const auto second = comparable(pb[0]);
    for (int64_t i = 0; i < n; ++i) out[i] = op(comparable(pa[i]), second);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = op(comparable(pa[i]), comparable(pb[i]));
  }
}

template <class T>
void compare(CompareOp op, RowOperand a, RowOperand b, uint8_t* out, int64_t n) {
  switch (op) {
    case CompareOp::equal: return loop<T>(Equal(), a, b, out, n);
    case CompareOp::not_equal: return loop<T>(NotEqual(), a, b, out, n);
    case CompareOp::less: return loop<T>(Less(), a, b, out, n);
    case CompareOp::less_equal: return loop<T>(LessEqual(), a, b, out, n);
    case CompareOp::greater: return loop<T>(Greater(), a, b, out, n);
    case CompareOp::greater_equal: return loop<T>(GreaterEqual(), a, b, out, n);
  }
}

/// Bits of T are copied, so that NaNs keep their payload.
template <class T, bool StepA, bool StepB>
HWY_INLINE void select(const uint8_t* c, const T* a, const T* b, T* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const T va = a[StepA ? i : 0], vb = b[StepB ? i : 0];  // both read: no branch
    out[i] = c[i] != 0 ? va : vb;
  }
}

template <class T>
void where(RowOperand c, RowOperand a, RowOperand b, T* out, int64_t n) {
  const uint8_t* pc = elements<uint8_t>(c.data);
  const T* pa = elements<T>(a.data);
  const T* pb = elements<T>(b.data);
  if (n == 0) return;
  if (c.step == 0) {
    const RowOperand chosen = pc[0] != 0 ? a : b;
    const T* from = elements<T>(chosen.data);
    for (int64_t i = 0; i < n; ++i) out[i] = from[i * chosen.step];
  } else if (a.step != 0) {
    b.step != 0 ? select<T, true, true>(pc, pa, pb, out, n)
                : select<T, true, false>(pc, pa, pb, out, n);
  } else {
    b.step != 0 ? select<T, false, true>(pc, pa, pb, out, n)
                : select<T, false, false>(pc, pa, pb, out, n);
  }
}

}  // namespace

void CompareRow(CompareOp op, DType dtype, RowOperand a, RowOperand b, uint8_t* out, int64_t n) {
  switch (dtype) {
    case DType::f32: return compare<float>(op, a, b, out, n);
    case DType::f64: return compare<double>(op, a, b, out, n);
    case DType::bf16: return compare<BFloat16>(op, a, b, out, n);
    case DType::f16: return compare<Float16>(op, a, b, out, n);
    case DType::i64: return compare<int64_t>(op, a, b, out, n);
    case DType::i32: return compare<int32_t>(op, a, b, out, n);
    case DType::i8: return compare<int8_t>(op, a, b, out, n);
    case DType::u8:
    case DType::boolean: return compare<uint8_t>(op, a, b, out, n);
  }
}

void LogicalRow(LogicalOp op, RowOperand a, RowOperand b, uint8_t* out, int64_t n) {
  switch (op) {
    case LogicalOp::logical_and: return loop<uint8_t>(And(), a, b, out, n);
    case LogicalOp::logical_or: return loop<uint8_t>(Or(), a, b, out, n);
    case LogicalOp::logical_xor: return loop<uint8_t>(ExclusiveOr(), a, b, out, n);
  }
}

void WhereRow(size_t element_size, RowOperand c, RowOperand a, RowOperand b, void* out, int64_t n) {
  switch (element_size) {
    case 1: return where(c, a, b, elements<uint8_t>(out), n);
    case 2: return where(c, a, b, elements<uint16_t>(out), n);
    case 4: return where(c, a, b, elements<uint32_t>(out), n);
    default: return where(c, a, b, elements<uint64_t>(out), n);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
HWY_EXPORT(CompareRow);
HWY_EXPORT(LogicalRow);
HWY_EXPORT(WhereRow);
namespace kernels {

void compare_row(CompareOp op, DType dtype, RowOperand a, RowOperand b, void* out, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(CompareRow)(op, dtype, a, b, static_cast<std::uint8_t*>(out), n);
}

void logical_row(LogicalOp op, RowOperand a, RowOperand b, void* out, std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(LogicalRow)(op, a, b, static_cast<std::uint8_t*>(out), n);
}

void where_row(std::size_t element_size, RowOperand c, RowOperand a, RowOperand b, void* out,
               std::int64_t n) {
  HWY_DYNAMIC_DISPATCH(WhereRow)(element_size, c, a, b, out, n);
}

}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE
