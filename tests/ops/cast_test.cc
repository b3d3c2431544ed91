// Tests of cast for all pairs of dtypes, compared with the scalar conversions in core.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"

namespace weft::testing {
namespace {

constexpr DType kCastTypes[] = {DType::f32, DType::f64, DType::bf16, DType::f16,    DType::i64,
                                DType::i32, DType::i8,  DType::u8,   DType::boolean};

Tensor cast(const Tensor& x, DType dtype) {
  return evaluate_op(builtin_ops()->at("cast"), {x}, {{"dtype", dtype}})[0];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cast_op)

BOOST_AUTO_TEST_CASE(every_conversion_preserves_small_integers) {
  std::vector<double> values;
  for (int i = 0; i < 67; ++i) values.push_back((i * 13) % 101);
  const Tensor source = Tensor::of<double>({67}, values);
  for_each_simd_target([&](const char*) {
    for (const DType from : kCastTypes) {
      const Tensor x = source.to(from);
      for (const DType to : kCastTypes) {
        const Tensor y = cast(x, to);
        BOOST_TEST((y.dtype() == to));
        for (int i = 0; i < 67; ++i) {
          const double v = x.at(i);
          BOOST_REQUIRE_MESSAGE(y.at(i) == (to == DType::boolean ? v != 0 : v),
                                dtype_name(from) << " to " << dtype_name(to) << " of " << v);
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(floats_to_integers_truncate_and_saturate) {
  const double inf = std::numeric_limits<double>::infinity();
  for_each_simd_target([&](const char*) {
    for (const DType from : {DType::f32, DType::f64}) {
      const Tensor x =
          Tensor::of<double>({9}, {1.9, -1.9, inf, -inf, NAN, 1e30, -1e30, -0.5, 127.5}).to(from);
      const Tensor i64 = cast(x, DType::i64), i32 = cast(x, DType::i32), i8 = cast(x, DType::i8),
                   u8 = cast(x, DType::u8), yes = cast(x, DType::boolean);
      const auto big = std::numeric_limits<std::int64_t>::max(),
                 small = std::numeric_limits<std::int64_t>::min();
      BOOST_TEST((i64.to_vector<std::int64_t>() ==
                  std::vector<std::int64_t>{1, -1, big, small, 0, big, small, 0, 127}));
      constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max(), kMin = -kMax - 1;
      BOOST_TEST((i32.to_vector<std::int32_t>() ==
                  std::vector<std::int32_t>{1, -1, kMax, kMin, 0, kMax, kMin, 0, 127}));
      BOOST_CHECK((i8.to_vector<std::int8_t>() ==
                   std::vector<std::int8_t>{1, -1, 127, -128, 0, 127, -128, 0, 127}));
      BOOST_CHECK((u8.to_vector<std::uint8_t>() ==
                   std::vector<std::uint8_t>{1, 0, 255, 0, 0, 255, 0, 0, 127}));
      for (int i = 0; i < 9; ++i) BOOST_TEST(yes.at(i) == 1);
    }
  });
}

BOOST_AUTO_TEST_CASE(integers_wrap_around_when_narrowed) {
  const Tensor x = Tensor::of<std::int64_t>({4}, {256, 257, -1, (std::int64_t{1} << 32) + 5});
  BOOST_CHECK(
      (cast(x, DType::u8).to_vector<std::uint8_t>() == std::vector<std::uint8_t>{0, 1, 255, 5}));
  BOOST_TEST((cast(x, DType::i32).to_vector<std::int32_t>() ==
              std::vector<std::int32_t>{256, 257, -1, 5}));
  BOOST_TEST(cast(x, DType::boolean).at(0) == 1);
}

BOOST_AUTO_TEST_CASE(every_16_bit_float_widens_exactly) {
  std::vector<BFloat16> b(65536);
  std::vector<Float16> h(65536);
  for (std::size_t i = 0; i < 65536; ++i) b[i].bits = h[i].bits = static_cast<std::uint16_t>(i);
  for_each_simd_target([&](const char*) {
    const Tensor wide_b = cast(Tensor::of<BFloat16>({65536}, b), DType::f32);
    const Tensor wide_h = cast(Tensor::of<Float16>({65536}, h), DType::f32);
    for (std::size_t i = 0; i < 65536; ++i) {
      const float want_b = to_float(b[i]), want_h = to_float(h[i]);
      const float got_b = wide_b.data<float>()[i], got_h = wide_h.data<float>()[i];
      const bool same =
          std::isnan(want_b) ? std::isnan(got_b) : std::memcmp(&want_b, &got_b, sizeof(float)) == 0;
      const bool same_h =
          std::isnan(want_h) ? std::isnan(got_h) : std::memcmp(&want_h, &got_h, sizeof(float)) == 0;
      if (!same || !same_h) BOOST_ERROR("bits " << i);
    }
  });
}

BOOST_AUTO_TEST_CASE(narrowing_float_conversions_match_core) {
  std::vector<float> x;
  for (std::uint64_t u = 0; u < (std::uint64_t{1} << 32); u += 65521 * 3) {
    const auto word = static_cast<std::uint32_t>(u);
    float f;
    std::memcpy(&f, &word, sizeof(f));
    x.push_back(f);
  }
  for (const float tie : {1.00390625f, 1.01171875f, 65504.0f, 65520.0f, 3.4e38f}) x.push_back(tie);
  const Tensor in = Tensor::of<float>({static_cast<std::int64_t>(x.size())}, x);
  for_each_simd_target([&](const char*) {
    const Tensor b = cast(in, DType::bf16), h = cast(in, DType::f16);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (!(b.data<BFloat16>()[i] == to_bfloat16(x[i])) ||
          !(h.data<Float16>()[i] == to_float16(x[i]))) {
        BOOST_ERROR("conversion of " << x[i]);
      }
    }
  });
  // The conversion from double rounds only once; rounding to float first would give a tie, which
  // would be rounded down.
  const double above_tie = 1.00390625 + 0x1p-40;
  BOOST_TEST(cast(Tensor::scalar(DType::f64, above_tie), DType::bf16).at(0) == 1.0078125);
}

// Conversions in a graph use the same function as conversions by callers.
BOOST_AUTO_TEST_CASE(all_pairs_match_tensor_to_bit_for_bit) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> integers = {0, 1, -1, kMax, -kMax - 1};
  for (int bit = 1; bit < 63; ++bit) {
    const std::int64_t power = std::int64_t{1} << bit, tie = power + power / 256;
    for (const std::int64_t x : {power - 1, power, power + 1, tie, tie + 1, tie - 1}) {
      integers.push_back(x);
      integers.push_back(-x);
    }
  }
  std::vector<double> reals = {NAN,   INFINITY, -INFINITY, -0.0,  5e-324,
                               1e-45, 1.7e308,  -3.4e38,   65519, 65520};
  for (const std::int64_t x : integers) {
    for (const double y : {-0.5, 0.0, 0.5}) reals.push_back(static_cast<double>(x) + y);
    reals.push_back(static_cast<double>(x) * 0x1p-70);
  }
  const auto of_integers =
      Tensor::of<std::int64_t>({static_cast<std::int64_t>(integers.size())}, integers);
  const auto of_reals = Tensor::of<double>({static_cast<std::int64_t>(reals.size())}, reals);
  for_each_simd_target([&](const char* target) {
    for (const DType from : kCastTypes) {
      for (const Tensor& source : {of_integers.to(from), of_reals.to(from)}) {
        for (const DType to : kCastTypes) {
          const Tensor got = cast(source, to), want = source.to(to);
          for (std::int64_t i = 0; i < want.numel(); ++i) {
            const bool both_nan = std::isnan(got.at(i)) && std::isnan(want.at(i));
            const std::size_t size = dtype_size(to);
            const auto at = static_cast<std::size_t>(i) * size;
            BOOST_REQUIRE_MESSAGE(
                both_nan || std::memcmp(got.raw() + at, want.raw() + at, size) == 0,
                dtype_name(from) << " to " << dtype_name(to) << " of " << source.at(i) << " on "
                                 << target << ": " << got.at(i) << " and " << want.at(i));
          }
        }
      }
    }
  });
  // Files may hold bools that are neither 0 nor 1.
  std::uint8_t bytes[] = {0, 1, 2, 0x80, 255};
  const Tensor odd = Tensor::borrow(DType::boolean, {5}, bytes);
  for (const DType to : {DType::f32, DType::i32, DType::u8, DType::bf16})
    BOOST_TEST(bitwise_equal(cast(odd, to), odd.to(to)));
}

BOOST_AUTO_TEST_CASE(a_missing_dtype_is_rejected) {
  BOOST_CHECK_EXCEPTION(
      evaluate_op(builtin_ops()->at("cast"), {Tensor::zeros(DType::f32, {1})}), ArgumentError,
      [](const Error& e) { return std::string(e.what()) == "op cast requires attribute 'dtype'"; });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
