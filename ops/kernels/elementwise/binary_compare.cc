#include "weft/ops/kernels/elementwise/binary.h"

#include <iterator>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/elementwise/binary_compare.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

// The functions below are plain loops, which the compiler vectorises for this target.

/// Returns the value that is used to compare an element. Storage-only floats are converted to
/// float, and bools are compared as bytes.
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

template <class Op, class T>
void bool_rows(const RowKernel& self, const void* const* in, void* out, int64_t n, int64_t) {
  const T* a = elements<T>(in[0]);
  const T* b = elements<T>(in[1]);
  uint8_t* to = elements<uint8_t>(out);
  const Op op;
  if (self.scalar(0)) {
    const auto first = comparable(a[0]);
    for (int64_t i = 0; i < n; ++i) to[i] = op(first, comparable(b[i]));
  } else if (self.scalar(1)) {
    const auto second = comparable(b[0]);
    for (int64_t i = 0; i < n; ++i) to[i] = op(comparable(a[i]), second);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = op(comparable(a[i]), comparable(b[i]));
  }
}

template <class Op>
RowKernel::Function comparison(DType dtype) {
  switch (dtype) {
    case DType::f32: return bool_rows<Op, float>;
    case DType::f64: return bool_rows<Op, double>;
    case DType::bf16: return bool_rows<Op, BFloat16>;
    case DType::f16: return bool_rows<Op, Float16>;
    case DType::i64: return bool_rows<Op, int64_t>;
    case DType::i32: return bool_rows<Op, int32_t>;
    case DType::i8: return bool_rows<Op, int8_t>;
    case DType::u8:
    case DType::boolean: return bool_rows<Op, uint8_t>;
  }
  return nullptr;
}

template <class Op>
RowKernel::Function logical(DType dtype) {
  return dtype == DType::boolean ? bool_rows<Op, uint8_t> : nullptr;
}

constexpr kernels::BinaryOp kComparisons[] = {
    {"equal", "a == b; false for NaN.", comparison<Equal>, true},
    {"not_equal", "a != b; true for NaN.", comparison<NotEqual>, true},
    {"less", "a < b; false for NaN.", comparison<Less>},
    {"less_equal", "a <= b; false for NaN.", comparison<LessEqual>},
    {"greater", "a > b; false for NaN.", comparison<Greater>},
    {"greater_equal", "a >= b; false for NaN.", comparison<GreaterEqual>},
};

constexpr kernels::BinaryOp kLogical[] = {
    {"logical_and", "a && b.", logical<And>, true},
    {"logical_or", "a || b.", logical<Or>, true},
    {"logical_xor", "a != b.", logical<ExclusiveOr>, true},
};

/// Copies the bits of T, so that NaN payloads are preserved.
template <class T, bool StepA, bool StepB>
HWY_INLINE void select(const uint8_t* c, const T* a, const T* b, T* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const T va = a[StepA ? i : 0], vb = b[StepB ? i : 0];  // both are read to avoid a branch
    out[i] = c[i] != 0 ? va : vb;
  }
}

template <class T>
void where_rows(const RowKernel& self, const void* const* in, void* out, int64_t n, int64_t) {
  const uint8_t* c = elements<uint8_t>(in[0]);
  const T* a = elements<T>(in[1]);
  const T* b = elements<T>(in[2]);
  T* to = elements<T>(out);
  const bool one_a = self.scalar(1), one_b = self.scalar(2);
  if (self.scalar(0)) {
    const T* from = c[0] != 0 ? a : b;
    const int64_t step = (c[0] != 0 ? one_a : one_b) ? 0 : 1;
    for (int64_t i = 0; i < n; ++i) to[i] = from[i * step];
  } else if (!one_a) {
    one_b ? select<T, true, false>(c, a, b, to, n) : select<T, true, true>(c, a, b, to, n);
  } else {
    one_b ? select<T, false, false>(c, a, b, to, n) : select<T, false, true>(c, a, b, to, n);
  }
}

}  // namespace

const kernels::BinaryOp* ComparisonTable() { return kComparisons; }
const kernels::BinaryOp* LogicalTable() { return kLogical; }

RowKernel::Function WhereRow(size_t element_size) {
  switch (element_size) {
    case 1: return where_rows<uint8_t>;
    case 2: return where_rows<uint16_t>;
    case 4: return where_rows<uint32_t>;
    default: return where_rows<uint64_t>;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
HWY_EXPORT(ComparisonTable);
HWY_EXPORT(LogicalTable);
HWY_EXPORT(WhereRow);
namespace kernels {

std::span<const BinaryOp> comparison_ops() {
  return {HWY_DYNAMIC_DISPATCH(ComparisonTable)(), std::size(HWY_NAMESPACE::kComparisons)};
}

std::span<const BinaryOp> logical_ops() {
  return {HWY_DYNAMIC_DISPATCH(LogicalTable)(), std::size(HWY_NAMESPACE::kLogical)};
}

RowKernel::Function where_row(std::size_t element_size) {
  return HWY_DYNAMIC_DISPATCH(WhereRow)(element_size);
}

}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE
