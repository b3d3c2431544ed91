// Element types of tensors, and the two storage-only float formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/core/export.h"

namespace WEFT_API weft {

/// Element type of a Tensor. The numeric values are part of the file format and must never change.
enum class DType : std::uint8_t {
  f32 = 1,
  f64 = 2,
  bf16 = 3,
  f16 = 4,
  i64 = 5,
  i32 = 6,
  i8 = 7,
  u8 = 8,
  boolean = 9,  // one byte, 0 or 1; printed as "bool"
};

/// Returns the number of bytes per element.
std::size_t dtype_size(DType dtype);
/// Returns the name of a dtype: "f32", "f64", "bf16", "f16", "i64", "i32", "i8", "u8" or "bool".
std::string_view dtype_name(DType dtype);
/// The inverse of dtype_name(). Throws DTypeError, listing the valid names, if the name is unknown.
DType parse_dtype(std::string_view name);
/// True for f32, f64, bf16 and f16.
bool is_floating(DType dtype);
/// True for i64, i32, i8 and u8 (bool is neither integer nor floating).
bool is_integer(DType dtype);

/// bfloat16: the upper 16 bits of an IEEE float. Storage only; arithmetic is done in float.
struct BFloat16 {
  std::uint16_t bits = 0;
  friend bool operator==(BFloat16, BFloat16) = default;
};

/// IEEE binary16. Storage only; arithmetic is done in float.
struct Float16 {
  std::uint16_t bits = 0;
  friend bool operator==(Float16, Float16) = default;
};

/// Convert with rounding to nearest, ties to even. NaNs are converted to quiet NaNs, and overflow
/// yields infinity. The overloads for double round only once (not via float).
BFloat16 to_bfloat16(float x);
BFloat16 to_bfloat16(double x);
Float16 to_float16(float x);
Float16 to_float16(double x);
float to_float(BFloat16 x);
float to_float(Float16 x);

/// Maps a C++ element type to its DType: float, double, BFloat16, Float16, int64_t, int32_t,
/// int8_t, uint8_t, bool.
template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<Float16> {
  static constexpr DType value = DType::f16;
};
template <>
struct DTypeOf<std::int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<std::int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<std::int8_t> {
  static constexpr DType value = DType::i8;
};
template <>
struct DTypeOf<std::uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

/// A tag that represents an element type as a value; visit_dtype() passes it to its callback.
template <class T>
struct TypeTag {
  using type = T;
};

/// Calls `fn(TypeTag<T>{})`, where T is the C++ type of `dtype`. The call must compile for all nine
/// types.
template <class Fn>
decltype(auto) visit_dtype(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::f32: return fn(TypeTag<float>{});
    case DType::f64: return fn(TypeTag<double>{});
    case DType::bf16: return fn(TypeTag<BFloat16>{});
    case DType::f16: return fn(TypeTag<Float16>{});
    case DType::i64: return fn(TypeTag<std::int64_t>{});
    case DType::i32: return fn(TypeTag<std::int32_t>{});
    case DType::i8: return fn(TypeTag<std::int8_t>{});
    case DType::u8: return fn(TypeTag<std::uint8_t>{});
    case DType::boolean: break;
  }
  return fn(TypeTag<bool>{});
}

}  // namespace weft
