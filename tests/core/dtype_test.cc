#include "weft/core/dtype.h"

#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string>

#include "weft/core/error.h"
#include "weft/core/source_location.h"

using namespace weft;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Returns the value of a 16-bit float as defined by its format. A double represents all such values
// exactly.
double decode(std::uint16_t bits, int mantissa_bits, int bias) {
  const int sign = bits >> 15;
  const int exponent = (bits & 0x7fff) >> mantissa_bits;
  const int mantissa = bits & ((1 << mantissa_bits) - 1);
  double x = 0;
  if (exponent == 2 * bias + 1) {
    x = mantissa == 0 ? kInf : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    x = std::ldexp(mantissa, 1 - bias - mantissa_bits);
  } else {
    x = std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
  }
  return sign != 0 ? -x : x;
}

struct Bf16Format {
  static constexpr int kMantissa = 7, kBias = 127;
  static std::uint16_t narrow(float x) { return to_bfloat16(x).bits; }
  static std::uint16_t narrow(double x) { return to_bfloat16(x).bits; }
  static float widen(std::uint16_t b) { return to_float(BFloat16{b}); }
};
struct F16Format {
  static constexpr int kMantissa = 10, kBias = 15;
  static std::uint16_t narrow(float x) { return to_float16(x).bits; }
  static std::uint16_t narrow(double x) { return to_float16(x).bits; }
  static float widen(std::uint16_t b) { return to_float(Float16{b}); }
};

// For every bit pattern, widening must return its value, and narrowing that value must return the
// pattern. Values at, just below and just above the midpoint to the next pattern must be rounded to
// nearest, with ties to even.
template <class Format>
void check_all_patterns() {
  const int infinity = (2 * Format::kBias + 1) << Format::kMantissa;
  int wrong = 0;
  auto expect = [&](std::uint16_t got, int wanted) { wrong += got != wanted ? 1 : 0; };
  for (int p = 0; p < 65536; ++p) {
    const auto bits = static_cast<std::uint16_t>(p);
    const int magnitude = p & 0x7fff;
    const double value = decode(bits, Format::kMantissa, Format::kBias);
    const float wide = Format::widen(bits);
    if (magnitude > infinity) {
      const int quiet = p | 1 << (Format::kMantissa - 1);
      wrong += std::isnan(wide) && std::signbit(wide) == (p >> 15 != 0) ? 0 : 1;
      wrong += (std::bit_cast<std::uint32_t>(wide) & 0x400000u) != 0 ? 0 : 1;
      expect(Format::narrow(wide), quiet);
      expect(Format::narrow(static_cast<double>(wide)), quiet);
      continue;
    }
    wrong += std::bit_cast<std::uint64_t>(static_cast<double>(wide)) ==
                     std::bit_cast<std::uint64_t>(value)
                 ? 0
                 : 1;
    expect(Format::narrow(wide), p);
    expect(Format::narrow(value), p);
    if (magnitude == infinity) continue;
    // The value after the largest finite one is infinity, in place of the next power of 2.
    const auto next_bits = static_cast<std::uint16_t>(p + 1);
    double next = decode(next_bits, Format::kMantissa, Format::kBias);
    if (std::isinf(next)) next = std::copysign(std::ldexp(1.0, Format::kBias + 1), value);
    const double middle = value + (next - value) / 2;
    const int even = (p & 1) == 0 ? p : p + 1;
    expect(Format::narrow(middle), even);
    expect(Format::narrow(std::nextafter(middle, value)), p);
    expect(Format::narrow(std::nextafter(middle, next)), p + 1);
    const auto middle_float = static_cast<float>(middle);
    if (static_cast<double>(middle_float) == middle) {
      expect(Format::narrow(middle_float), even);
      expect(Format::narrow(std::nextafterf(middle_float, static_cast<float>(value))), p);
      const float away = std::copysign(std::numeric_limits<float>::infinity(), wide);
      expect(Format::narrow(std::nextafterf(middle_float, away)), p + 1);
    }
  }
  BOOST_TEST(wrong == 0);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(dtype)

BOOST_AUTO_TEST_CASE(dtypes_have_names_sizes_and_categories) {
  const struct {
    DType dtype;
    const char* name;
    std::size_t size;
    bool floating, integer;
  } rows[] = {{DType::f32, "f32", 4, true, false},      {DType::f64, "f64", 8, true, false},
              {DType::bf16, "bf16", 2, true, false},    {DType::f16, "f16", 2, true, false},
              {DType::i64, "i64", 8, false, true},      {DType::i32, "i32", 4, false, true},
              {DType::i8, "i8", 1, false, true},        {DType::u8, "u8", 1, false, true},
              {DType::boolean, "bool", 1, false, false}};
  for (const auto& r : rows) {
    BOOST_TEST(dtype_name(r.dtype) == r.name);
    BOOST_TEST(dtype_size(r.dtype) == r.size);
    BOOST_TEST((parse_dtype(r.name) == r.dtype));
    BOOST_TEST(is_floating(r.dtype) == r.floating);
    BOOST_TEST(is_integer(r.dtype) == r.integer);
    visit_dtype(r.dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      BOOST_TEST((dtype_of<T> == r.dtype));
      BOOST_TEST(sizeof(T) == r.size);
    });
  }
}

BOOST_AUTO_TEST_CASE(unknown_names_and_numbers_are_rejected) {
  BOOST_CHECK_EXCEPTION(parse_dtype("float32"), DTypeError, [](const DTypeError& e) {
    return e.what() == std::string(
                           "unknown dtype \"float32\"; the dtypes are f32, f64, bf16, f16, i64, "
                           "i32, i8, u8, bool");
  });
  for (int number : {0, 10, 255}) {
    BOOST_CHECK_EXCEPTION(
        dtype_size(static_cast<DType>(number)), DTypeError, [&](const DTypeError& e) {
          return e.what() == std::to_string(number) + " is not a valid dtype number";
        });
  }
}

BOOST_AUTO_TEST_CASE(every_bf16_pattern_is_converted_correctly) {
  check_all_patterns<Bf16Format>();
}

BOOST_AUTO_TEST_CASE(every_f16_pattern_is_converted_correctly) { check_all_patterns<F16Format>(); }

BOOST_AUTO_TEST_CASE(conversions_overflow_underflow_and_round_once) {
  BOOST_TEST(to_float16(65504.0).bits == 0x7bff);
  BOOST_TEST(to_float16(65519.99).bits == 0x7bff);
  BOOST_TEST(to_float16(65520.0).bits == 0x7c00);
  BOOST_TEST(to_float16(-1e300).bits == 0xfc00);
  BOOST_TEST(to_bfloat16(1e300).bits == 0x7f80);
  BOOST_TEST(to_bfloat16(std::numeric_limits<float>::max()).bits == 0x7f80);
  BOOST_TEST(to_float16(-1e-300).bits == 0x8000);
  BOOST_TEST(to_bfloat16(std::numeric_limits<double>::denorm_min()).bits == 0);
  // This is just above a tie, by less than a float can represent. Rounding through float would
  // round down to even.
  const double x = 1.0 + 0x1p-8 + 0x1p-40;
  BOOST_TEST(to_bfloat16(x).bits == 0x3f81);
  BOOST_TEST(to_bfloat16(static_cast<float>(x)).bits == 0x3f80);
  const double y = 1.0 + 0x1p-11 + 0x1p-40;
  BOOST_TEST(to_float16(y).bits == 0x3c01);
  BOOST_TEST(to_float16(static_cast<float>(y)).bits == 0x3c00);
  // A NaN whose payload is only in the low bits must not become infinity.
  BOOST_TEST(to_bfloat16(std::bit_cast<float>(0x7f800001u)).bits == 0x7fc0);
  BOOST_TEST(to_float16(std::bit_cast<float>(0xff800001u)).bits == 0xfe00);
  BOOST_TEST(to_float16(std::bit_cast<double>(0x7ff0000000000001u)).bits == 0x7e00);
}

BOOST_AUTO_TEST_CASE(errors_keep_their_type_when_rethrown) {
  const DataError error("inner");
  const Error& base = error;
  BOOST_CHECK_EXCEPTION(base.rethrow_as("outer: inner"), DataError,
                        [](const DataError& e) { return e.what() == std::string("outer: inner"); });
}

BOOST_AUTO_TEST_CASE(source_locations_are_printed_as_file_and_line) {
  const SourceLocation here = SourceLocation::current();
  BOOST_TEST(here.known());
  BOOST_TEST(here.str() == std::string(__FILE__) + ":" + std::to_string(__LINE__ - 2));
  BOOST_TEST(SourceLocation{}.str() == "");
  BOOST_TEST(!SourceLocation{}.known());
}

BOOST_AUTO_TEST_SUITE_END()
