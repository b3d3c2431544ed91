#include "weft/core/dtype.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <string>

#include "weft/core/error.h"

namespace weft {
namespace {

struct DTypeInfo {
  DType dtype;
  std::string_view name;
  std::size_t size;
};
constexpr std::array<DTypeInfo, 9> kInfos = {{{DType::f32, "f32", 4},
                                              {DType::f64, "f64", 8},
                                              {DType::bf16, "bf16", 2},
                                              {DType::f16, "f16", 2},
                                              {DType::i64, "i64", 8},
                                              {DType::i32, "i32", 4},
                                              {DType::i8, "i8", 1},
                                              {DType::u8, "u8", 1},
                                              {DType::boolean, "bool", 1}}};

const DTypeInfo& info(DType dtype) {
  // The invalid number 0 wraps around, so it fails the check as well.
  const auto index = static_cast<std::size_t>(dtype) - 1;
  if (index >= kInfos.size()) {
    throw DTypeError(fmt::format("{} is not a valid dtype number", static_cast<int>(dtype)));
  }
  return kInfos[index];
}

// Rounds a double once to a 16-bit format with `mantissa_bits` stored bits and the given exponent
// bias. Uses integer arithmetic only, so that the caller's flush-to-zero and rounding modes have no
// effect.
template <int mantissa_bits, int bias>
std::uint16_t narrow(double x) {
  constexpr int kMinExponent = 1 - bias;
  constexpr std::uint32_t kInfinity = (2u * bias + 1) << mantissa_bits;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const auto sign = static_cast<std::uint16_t>(bits >> 63 << 15);
  const int biased = static_cast<int>(bits >> 52 & 0x7ff);
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << 52) - 1);
  if (biased == 0x7ff) {
    if (fraction == 0) return static_cast<std::uint16_t>(sign | kInfinity);
    const auto payload = static_cast<std::uint32_t>(fraction >> (52 - mantissa_bits));
    constexpr std::uint32_t kQuiet = 1u << (mantissa_bits - 1);
    return static_cast<std::uint16_t>(sign | kInfinity | kQuiet | payload);
  }
  const int exponent = biased - 1023;
  if (biased == 0 || exponent < kMinExponent - mantissa_bits - 1) return sign;
  if (exponent > bias) return static_cast<std::uint16_t>(sign | kInfinity);
  const std::uint64_t significand = std::uint64_t{1} << 52 | fraction;
  const bool normal = exponent >= kMinExponent;
  const int shift = 52 - mantissa_bits + (normal ? 0 : kMinExponent - exponent);
  auto rounded = static_cast<std::uint32_t>(significand >> shift);
  const std::uint64_t rest = significand & ((std::uint64_t{1} << shift) - 1);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  if (rest > half || (rest == half && (rounded & 1) != 0)) ++rounded;
  // `rounded` includes the implicit leading bit, so a carry propagates into the exponent and yields
  // infinity on overflow.
  const std::uint32_t below = normal ? static_cast<std::uint32_t>(exponent + bias - 1) : 0;
  return static_cast<std::uint16_t>(sign | ((below << mantissa_bits) + rounded));
}

}  // namespace

std::size_t dtype_size(DType dtype) { return info(dtype).size; }

std::string_view dtype_name(DType dtype) { return info(dtype).name; }

DType parse_dtype(std::string_view name) {
  std::string legal;
  for (const DTypeInfo& i : kInfos) {
    if (i.name == name) return i.dtype;
    legal += legal.empty() ? "" : ", ";
    legal += i.name;
  }
  throw DTypeError(fmt::format("unknown dtype \"{}\"; the dtypes are {}", name, legal));
}

bool is_floating(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::bf16 || dtype == DType::f16;
}

bool is_integer(DType dtype) {
  return dtype == DType::i64 || dtype == DType::i32 || dtype == DType::i8 || dtype == DType::u8;
}

BFloat16 to_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) {
    return {static_cast<std::uint16_t>(bits >> 16 | 0x40u)};
  }
  // Adding slightly less than half a unit, or exactly half a unit if the kept part is odd, rounds
  // to nearest, ties to even.
  return {static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}

BFloat16 to_bfloat16(double x) { return {narrow<7, 127>(x)}; }

Float16 to_float16(float x) { return {narrow<10, 15>(static_cast<double>(x))}; }

Float16 to_float16(double x) { return {narrow<10, 15>(x)}; }

float to_float(BFloat16 x) {
  std::uint32_t bits = std::uint32_t{x.bits} << 16;
  if ((bits & 0x7fffffffu) > 0x7f800000u) bits |= 0x400000u;
  return std::bit_cast<float>(bits);
}

float to_float(Float16 x) {
  const std::uint32_t sign = std::uint32_t{x.bits & 0x8000u} << 16;
  const std::uint32_t exponent = x.bits >> 10 & 31u;
  std::uint32_t mantissa = x.bits & 0x3ffu;
  if (exponent == 31) {
    if (mantissa != 0) mantissa |= 0x200u;
    return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  }
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;  // exact
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

}  // namespace weft
