#include "weft/ops/kernels/elementwise/cast.h"

#include "weft/core/convert.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/ops/kernels/elementwise/cast.cc"
#include "hwy/foreach_target.h"
#include "weft/ops/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace weft {
namespace HWY_NAMESPACE {
namespace {

// The functions below are plain loops, which the compiler vectorises for this target. Bools are
// handled as bytes.

struct Bool {};  // tag for the bool dtype, which is stored as uint8_t
template <class T>
struct StorageOf {
  using type = T;
};
template <>
struct StorageOf<Bool> {
  using type = uint8_t;
};

template <class To, class From>
HWY_INLINE To bits(From x) {
  To y;
  memcpy(&y, &x, sizeof(y));
  return y;
}

HWY_INLINE float widen(BFloat16 x) { return bits<float>(static_cast<uint32_t>(x.bits) << 16); }

/// Multiplying by 2^112 adjusts the exponent and converts denormals to normal numbers, both of
/// which are exact.
HWY_INLINE float widen(Float16 x) {
  const uint32_t magnitude = x.bits & 0x7FFFu, sign = static_cast<uint32_t>(x.bits & 0x8000u) << 16;
  const uint32_t finite = bits<uint32_t>(bits<float>(magnitude << 13) * 0x1p112f);
  const uint32_t special = 0x7F800000u | (magnitude << 13) | (magnitude > 0x7C00u ? 0x400000u : 0u);
  return bits<float>((magnitude >= 0x7C00u ? special : finite) | sign);
}
template <class T>
HWY_INLINE T widen(T x) {
  return x;
}

/// Truncates and saturates; NaN becomes 0. The bounds are powers of two (or 0), so they are exactly
/// representable in F.
template <class To, class F>
HWY_INLINE To saturate(F x) {
  constexpr bool is_signed = To(-1) < To(0);
  constexpr int digits = static_cast<int>(sizeof(To) * 8) - (is_signed ? 1 : 0);
  constexpr F end =
      static_cast<F>(uint64_t{1} << (digits - 1)) * F(2);  // the first value above the range
  constexpr To highest = static_cast<To>(~uint64_t{0} >> (64 - digits));
  constexpr To lowest = is_signed ? static_cast<To>(-highest - 1) : To(0);
  if (!(x < end)) return x >= end ? highest : To(0);
  if (is_signed ? x < -end : x <= F(-1)) return lowest;
  return static_cast<To>(x);
}

/// Rounds to nearest, ties to even, like to_bfloat16() in core/dtype.h, but without branches.
HWY_INLINE BFloat16 narrow_bf16(float x) {
  const uint32_t u = bits<uint32_t>(x);
  const uint32_t rounded = (u + 0x7FFFu + ((u >> 16) & 1u)) >> 16;
  const uint32_t nan = (u >> 16) | 0x40u;
  BFloat16 y;
  y.bits = static_cast<uint16_t>((u & 0x7FFFFFFFu) > 0x7F800000u ? nan : rounded);
  return y;
}

template <class T>
inline constexpr bool is_float = false;
template <>
inline constexpr bool is_float<float> = true;
template <>
inline constexpr bool is_float<double> = true;

/// As above, for bytes. There are no branches, so that the loop is vectorised.
template <class To, class F>
HWY_INLINE To saturate_byte(F x) {
  constexpr F lowest = To(-1) < To(0) ? F(-128) : F(0), highest = To(-1) < To(0) ? F(127) : F(255);
  F y = x == x ? x : F(0);
  y = y < lowest ? lowest : y;
  y = y > highest ? highest : y;
  return static_cast<To>(static_cast<int32_t>(y));
}

template <class To>
struct Convert {
  template <class T>  // float, double or an integer
  static HWY_INLINE To from(T x) {
    if constexpr (is_float<T> && sizeof(To) == 1) {
      return saturate_byte<To>(x);
    } else if constexpr (is_float<T> && !is_float<To>) {
      return saturate<To>(x);
    } else {
      return static_cast<To>(x);
    }
  }
};
template <>
struct Convert<Bool> {
  template <class T>
  static HWY_INLINE uint8_t from(T x) {
    return x != T(0);
  }
};
template <>
struct Convert<BFloat16> {
  static HWY_INLINE BFloat16 from(float x) { return narrow_bf16(x); }
  static HWY_INLINE BFloat16 from(int64_t x) { return to_bfloat16(integer_to_double_sticky(x)); }
  template <class T>  // double, and integers exact in double: rounded once
  static HWY_INLINE BFloat16 from(T x) {
    return to_bfloat16(static_cast<double>(x));
  }
};
template <>
struct Convert<Float16> {
  static HWY_INLINE Float16 from(float x) { return to_float16(x); }
  static HWY_INLINE Float16 from(int64_t x) { return to_float16(integer_to_double_sticky(x)); }
  template <class T>
  static HWY_INLINE Float16 from(T x) {
    return to_float16(static_cast<double>(x));
  }
};

template <class From, class To>
void convert(const RowKernel&, const void* const* in, void* out, int64_t n, int64_t) {
  using Input = typename StorageOf<From>::type;
  using Output = typename StorageOf<To>::type;
  const Input* HWY_RESTRICT from = elements<Input>(in[0]);
  Output* HWY_RESTRICT to = elements<Output>(out);
  if constexpr (hwy::IsSame<From, Bool>()) {  // files may contain bytes other than 0 and 1
    for (int64_t i = 0; i < n; ++i) to[i] = Convert<To>::from(static_cast<uint8_t>(from[i] != 0));
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = Convert<To>::from(widen(from[i]));
  }
}

template <class T>
void copy(const RowKernel&, const void* const* in, void* out, int64_t n, int64_t) {
  memcpy(out, in[0], static_cast<size_t>(n) * sizeof(T));
}
RowKernel::Function copy_elements(size_t size) {
  switch (size) {
    case 1: return copy<uint8_t>;
    case 2: return copy<uint16_t>;
    case 4: return copy<uint32_t>;
    default: return copy<uint64_t>;
  }
}

template <class From>
RowKernel::Function convert_from(DType to) {
  switch (to) {
    case DType::f32: return convert<From, float>;
    case DType::f64: return convert<From, double>;
    case DType::bf16: return convert<From, BFloat16>;
    case DType::f16: return convert<From, Float16>;
    case DType::i64: return convert<From, int64_t>;
    case DType::i32: return convert<From, int32_t>;
    case DType::i8: return convert<From, int8_t>;
    case DType::u8: return convert<From, uint8_t>;
    case DType::boolean: return convert<From, Bool>;
  }
  return nullptr;
}

}  // namespace

RowKernel::Function CastRow(DType from, DType to) {
  if (from == to) return copy_elements(dtype_size(from));
  switch (from) {
    case DType::f32: return convert_from<float>(to);
    case DType::f64: return convert_from<double>(to);
    case DType::bf16: return convert_from<BFloat16>(to);
    case DType::f16: return convert_from<Float16>(to);
    case DType::i64: return convert_from<int64_t>(to);
    case DType::i32: return convert_from<int32_t>(to);
    case DType::i8: return convert_from<int8_t>(to);
    case DType::u8: return convert_from<uint8_t>(to);
    case DType::boolean: return convert_from<Bool>(to);
  }
  return nullptr;
}

}  // namespace HWY_NAMESPACE
}  // namespace weft
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {
HWY_EXPORT(CastRow);
namespace kernels {

RowKernel::Function cast_row(DType from, DType to) {
  return HWY_DYNAMIC_DISPATCH(CastRow)(from, to);
}

}  // namespace kernels
}  // namespace weft
#endif  // HWY_ONCE
