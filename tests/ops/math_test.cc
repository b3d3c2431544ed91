// Accuracy of the transcendental kernels on every SIMD target.
#include <fmt/format.h>

#include <bit>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "weft/core/random.h"
#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/reference/elementwise.h"

namespace weft::testing {
namespace {

template <class T>
const std::vector<T>& points() {
  using Limits = std::numeric_limits<T>;
  static const std::vector<T> all = [] {
    const T inf = Limits::infinity();
    std::vector<T> p = {T(0),
                        T(-0.0),
                        T(1),
                        T(-1),
                        inf,
                        -inf,
                        Limits::quiet_NaN(),
                        Limits::max(),
                        Limits::lowest(),
                        Limits::min(),
                        -Limits::min(),
                        Limits::denorm_min(),
                        -Limits::denorm_min(),
                        T(88.72283),
                        T(88.7229),
                        T(-103.9),
                        T(-104.1),
                        T(709.782712893384),
                        T(709.79),
                        T(-745),
                        T(-746),
                        T(1e6),
                        T(-1e6),
                        T(1e22),
                        T(3.14159265358979)};
    // Points with every exponent and both signs.
    for (std::uint64_t i = 0; i < 60000; ++i) {
      if constexpr (sizeof(T) == 4) {
        p.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(i * 71579)));
      } else {
        p.push_back(std::bit_cast<double>(i * 307445734561825ull));
      }
    }
    // Dense samples in the ranges in which the functions are strongly curved.
    const RandomStream stream{7, 0, 0};
    std::uint64_t draw = 0;
    for (const double scale : {0.01, 1.0, 2.0, 10.0, 100.0, 1000.0, 40000.0}) {
      for (int i = 0; i < 6000; ++i, draw += 2) {
        const double u = uniform_double(stream.word(draw), stream.word(draw + 1));
        p.push_back(static_cast<T>(scale * (2 * u - 1)));
      }
    }
    return p;
  }();
  return all;
}

/// Checks `op` at all points: |error| <= ulps * ulp(result) + absolute * |x|.
template <class T>
void check(const std::string& op, double ulps, double absolute = 0) {
  const auto& x = points<T>();
  const Oracle oracle = unary_oracle(op);
  std::vector<long double> want;
  for (const T v : x) want.push_back(oracle(v));
  const auto in = Tensor::of<T>({static_cast<std::int64_t>(x.size())}, x);
  for_each_simd_target([&](const char* target) {
    const Tensor out = evaluate_op(builtin_ops()->at(op), {in})[0];
    const T* got = out.data<T>();
    int reported = 0;
    for (std::size_t i = 0; i < x.size() && reported < 3; ++i) {
      const long double error = std::fabs(static_cast<long double>(got[i]) - want[i]);
      if (ulp_distance(got[i], want[i]) <= ulps || error <= absolute * std::fabs(x[i])) continue;
      ++reported;
      BOOST_ERROR(fmt::format("{} of {:a} on {}: {} instead of {}", op, x[i], target, got[i],
                              static_cast<T>(want[i])));
    }
  });
}

void check_both(const std::string& op, double f32_ulps, double f64_ulps) {
  check<float>(op, f32_ulps);
  check<double>(op, f64_ulps);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(math)

BOOST_AUTO_TEST_CASE(exponentials_and_logarithms_are_accurate) {
  check_both("exp", 1, 1);
  check_both("expm1", 4, 4);
  check_both("log", 1, 1);
  check_both("log1p", 3, 3);
}

BOOST_AUTO_TEST_CASE(trigonometric_functions_are_accurate) {
  check_both("sin", 3, 3);
  check_both("cos", 3, 3);
}

BOOST_AUTO_TEST_CASE(hyperbolic_functions_and_erf_are_accurate) {
  check_both("tanh", 2, 4);
  check_both("erf", 2, 1);
}

BOOST_AUTO_TEST_CASE(activations_are_accurate) {
  check_both("sigmoid", 2, 2);
  check_both("softplus", 4, 4);
  check_both("hardswish", 4, 4);
  // Rounding the argument of an exponential causes a relative error that grows with the argument.
  // In the tails, the errors of gates are therefore relative to the magnitude of x.
  check<float>("silu", 4, 1e-8);
  check<double>("silu", 4, 1e-17);
  check<float>("gelu_erf", 4, 8e-8);
  check<double>("gelu_erf", 4, 1e-16);
  check<float>("gelu_tanh", 4, 1.2e-7);
  check<double>("gelu_tanh", 4, 2.5e-16);
}

BOOST_AUTO_TEST_CASE(small_results_of_gelu_keep_their_digits) {
  std::vector<float> x;
  for (const float v : points<float>()) {
    if (v > -6 && v < -1e-30F) x.push_back(v);
  }
  const Oracle oracle = unary_oracle("gelu_erf");
  const auto in = Tensor::of<float>({static_cast<std::int64_t>(x.size())}, x);
  for_each_simd_target([&](const char* target) {
    const Tensor out = evaluate_op(builtin_ops()->at("gelu_erf"), {in})[0];
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double want = oracle(x[i]);
      worst = std::max(worst, static_cast<double>(std::fabs((out.data<float>()[i] - want) / want)));
    }
    BOOST_TEST(worst < 5e-6, target << ": " << worst);
  });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft::testing
