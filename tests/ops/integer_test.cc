// Rounding of activations to bytes, with exact values on every SIMD target.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(),
                kInf = std::numeric_limits<float>::infinity();

Tensor fake_quantize(const Tensor& x, const Tensor& scale = {}) {
  return evaluate_op(builtin_ops()->at("fake_quantize"), {x, scale})[0];
}

/// A row of n elements: the given ones, and zeros.
Tensor padded_row(std::vector<float> values, std::int64_t n) {
  values.resize(static_cast<std::size_t>(n));
  return Tensor::of<float>({1, n}, values);
}

BOOST_AUTO_TEST_SUITE(integer_rows)

BOOST_AUTO_TEST_CASE(dynamic_steps_round_to_nearest_even) {
  testing::for_each_simd_target([](const char* target) {
    for (const std::int64_t n : {6, 17, 64, 75}) {
      BOOST_TEST_CONTEXT(target << " " << n) {
        // The step is 1, because the largest magnitude is 127.
        const Tensor y = fake_quantize(padded_row({-127, 0.5f, 1.5f, -2.5f, 126.51f, -0.49f}, n));
        const std::vector<double> expected = {-127, 0, 2, -2, 127, 0};
        for (std::size_t i = 0; i < expected.size(); ++i)
          BOOST_TEST(y.at(static_cast<std::int64_t>(i)) == expected[i]);
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(static_steps_clamp) {
  testing::for_each_simd_target([](const char* target) {
    BOOST_TEST_CONTEXT(target) {
      const Tensor x = padded_row({-20, 15.8f, 0.0625f, 0.1875f, kInf, -kInf, 1}, 40);
      const Tensor y = fake_quantize(x, Tensor::scalar(DType::f32, 0.125));
      const std::vector<double> expected = {-15.875, 15.75, 0, 0.25, 15.875, -15.875, 1};
      for (std::size_t i = 0; i < expected.size(); ++i)
        BOOST_TEST(y.at(static_cast<std::int64_t>(i)) == expected[i]);
    }
  });
}

BOOST_AUTO_TEST_CASE(errors_are_at_most_half_a_step) {
  const Tensor x = sample_uniform({5, 90}, 3);
  const Tensor y = fake_quantize(x), wide = fake_quantize(x.to(DType::f64));
  BOOST_TEST((wide.dtype() == DType::f64));
  for (std::int64_t r = 0; r < 5; ++r) {
    double most = 0, largest = 0;
    for (std::int64_t i = r * 90; i < (r + 1) * 90; ++i) most = std::max(most, std::abs(x.at(i)));
    for (std::int64_t i = r * 90; i < (r + 1) * 90; ++i) {
      BOOST_REQUIRE_SMALL(y.at(i) - x.at(i), most / 254 * 1.00001);
      BOOST_REQUIRE_SMALL(wide.at(i) - x.at(i), most / 254 * 1.00001);
      largest = std::max(largest, std::abs(y.at(i)));
    }
    BOOST_REQUIRE_SMALL(largest / most - 1, 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(rows_with_nan_infinity_or_tiny_values_are_as_documented) {
  testing::for_each_simd_target([](const char* target) {
    for (const std::int64_t n : {3, 16, 67}) {
      BOOST_TEST_CONTEXT(target << " " << n) {
        Tensor x = Tensor::zeros(DType::f32, {5, n});
        auto* data = x.mutable_data<float>();
        for (std::int64_t i = 0; i < 5 * n; ++i) data[i] = 1;
        data[1] = kNan, data[n] = -kInf, data[4 * n] = 127;
        for (std::int64_t i = 0; i < n; ++i) data[2 * n + i] = 0x1p-101f, data[3 * n + i] = 0;
        const Tensor y = fake_quantize(x);
        for (std::int64_t i = 0; i < n; ++i) {
          BOOST_TEST((std::isnan(y.at(i)) && std::isnan(y.at(n + i))));
          BOOST_TEST((y.at(2 * n + i) == 0 && y.at(3 * n + i) == 0));
        }
        BOOST_TEST((y.at(4 * n) == 127 && y.at(4 * n + 1) == 1));
        const auto rows = evaluate_op(builtin_ops()->at("quantize_rows"), {x, Tensor()});
        BOOST_TEST((std::isnan(rows[1].at(0)) && std::isnan(rows[1].at(1))));
        BOOST_TEST((rows[0].at(0) == 0 && rows[0].at(n) == 0 && rows[0].at(4 * n) == 127));
        BOOST_TEST((rows[1].at(2) == 0 && rows[1].at(4) == 1));
        // With a static step, only NaN makes a row NaN.
        const Tensor fixed = fake_quantize(x, Tensor::scalar(DType::f32, 1));
        BOOST_TEST((std::isnan(fixed.at(n - 1)) && fixed.at(n) == -127 && fixed.at(n + 1) == 1));
      }
    }
  });
  for (const double scale : {0.0, -1.0, 0x1p-101, 0x1p101, static_cast<double>(kNan)}) {
    const Tensor y = fake_quantize(padded_row({1, 2}, 20), Tensor::scalar(DType::f32, scale));
    for (std::int64_t i = 0; i < 20; ++i) BOOST_TEST(std::isnan(y.at(i)));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
