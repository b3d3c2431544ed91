// The error of each precision relative to float64. docs/precision.md shows the measured errors (run
// this test with --log_level=message to print them) and the bounds that this test asserts.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <random>
#include <string>

#include "weft/core/tensor.h"
#include "weft/ops/kernels/gemm/bf16_split/engine.h"
#include "weft/tests/ops/engine_gemm.h"
#include "weft/tests/reference/bf16_split.h"

namespace weft {
namespace {

using kernels::Bf16Unit;

constexpr std::int64_t kSide = 32;

// Returns standard normal entries, each multiplied by a power of two. The exponent is one of
// `orders` + 1 values.
Tensor entries(Sizes sizes, std::uint64_t seed, int orders) {
  Tensor t = Tensor::empty(DType::f32, std::move(sizes));
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    const int exponent =
        static_cast<int>(random() % static_cast<unsigned>(orders + 1)) - orders / 2;
    t.mutable_data<float>()[i] = static_cast<float>(std::ldexp(normal(random), exponent));
  }
  return t;
}

// Relative errors of one product. `rms` is the root mean square of the error divided by that of the
// result. `largest` is relative to the sum of the absolute values of the products, which bounds the
// error of a float sum in any order.
struct Errors {
  double rms = 0, largest = 0;
};

struct Exact {
  std::vector<double> value, magnitude;
  Exact(const Tensor& a, const Tensor& b) : value(kSide * kSide), magnitude(kSide * kSide) {
    const std::int64_t k = a.size(1);
    for (std::int64_t i = 0; i < kSide; ++i) {
      for (std::int64_t p = 0; p < k; ++p) {
        const double x = a.data<float>()[i * k + p];
        for (std::int64_t j = 0; j < kSide; ++j) {
          const double product = x * b.data<float>()[p * kSide + j];
          value[static_cast<std::size_t>(i * kSide + j)] += product;
          magnitude[static_cast<std::size_t>(i * kSide + j)] += std::abs(product);
        }
      }
    }
  }
  Errors of(const Tensor& c) const {
    double squares = 0, norm = 0;
    Errors e;
    for (std::size_t i = 0; i < value.size(); ++i) {
      const double error = std::abs(c.at(static_cast<std::int64_t>(i)) - value[i]);
      squares += error * error;
      norm += value[i] * value[i];
      if (error > 0) e.largest = std::max(e.largest, error / magnitude[i]);
    }
    e.rms = std::sqrt(squares / norm);
    return e;
  }
};

// A chain of fused multiply-adds over all of K: the baseline for float32 accuracy.
Tensor sequential(const Tensor& a, const Tensor& b) {
  Tensor c = Tensor::zeros(DType::f32, {kSide, kSide});
  const std::int64_t k = a.size(1);
  for (std::int64_t i = 0; i < kSide; ++i) {
    for (std::int64_t p = 0; p < k; ++p) {
      for (std::int64_t j = 0; j < kSide; ++j) {
        float& sum = c.mutable_data<float>()[i * kSide + j];
        sum = std::fma(a.data<float>()[i * k + p], b.data<float>()[p * kSide + j], sum);
      }
    }
  }
  return c;
}

std::string row(const char* data, std::int64_t k, const std::vector<Errors>& errors) {
  char text[200];
  int length = std::snprintf(text, sizeof(text), "| %s | %lld |", data, static_cast<long long>(k));
  for (const Errors& e : errors) {
    length += std::snprintf(text + length, sizeof(text) - static_cast<std::size_t>(length),
                            " %.1e %.1e |", e.rms, e.largest);
  }
  return text;
}

struct Data {
  const char* name;
  int orders;
  double scale_a, scale_b;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(bf16_split_accuracy)

// With bfloat16 weights, all terms of the floats are multiplied, so nothing is omitted.
BOOST_AUTO_TEST_CASE(products_with_bfloat16_weights_have_float32_accuracy) {
  for (const std::int64_t k : {64, 1024, 4096}) {
    const Tensor a = entries({kSide, k}, 3, 8);
    const Tensor b = entries({k, kSide}, 4, 8).to(DType::bf16).to(DType::f32);
    const Exact exact(a, b);
    const auto errors = [&](int products) {
      return exact.of(testing::engine_gemm(
          kernels::bf16_split_engine(Bf16Unit::emulated_amx, products, true), a, b));
    };
    const Errors high = errors(2), highest = errors(3), fma = exact.of(sequential(a, b));
    BOOST_TEST_MESSAGE(row("bf16 weights", k, {high, highest, fma}));
    BOOST_TEST_CONTEXT("k = " << k) {
      BOOST_TEST(high.rms < 6e-6);
      BOOST_TEST(highest.largest < 5e-7);
      BOOST_TEST(highest.rms <= fma.rms);
    }
  }
}

BOOST_AUTO_TEST_CASE(errors_relative_to_float64_are_within_the_bounds_of_each_precision) {
  const Data data[] = {{"8 orders", 8, 1, 1},
                       {"60 orders", 60, 1, 1},
                       {"times 1e-39 (denormals)", 8, 1e-39, 1},
                       {"times 1e-30 both", 8, 1e-20, 1e-16},
                       {"times 1e36", 8, 1e36, 1e-10}};
  for (const Data& d : data) {
    for (const std::int64_t k : {64, 256, 1024, 4096, 16384}) {
      if (d.orders == 8 && d.scale_a != 1 && k != 256) continue;
      Tensor a = entries({kSide, k}, 1, d.orders), b = entries({k, kSide}, 2, d.orders);
      for (std::int64_t i = 0; i < a.numel(); ++i) {
        a.mutable_data<float>()[i] = static_cast<float>(a.at(i) * d.scale_a);
        b.mutable_data<float>()[i] = static_cast<float>(b.at(i) * d.scale_b);
      }
      const Exact exact(a, b);
      const auto errors = [&](Bf16Unit unit, int products) {
        return exact.of(testing::engine_gemm(kernels::bf16_split_engine(unit, products), a, b));
      };
      const Errors medium = errors(Bf16Unit::emulated_amx, 1),
                   dot = errors(Bf16Unit::emulated_dot, 1);
      const Errors high = errors(Bf16Unit::emulated_amx, 3);
      const Errors highest = errors(Bf16Unit::emulated_amx, 6), fma = exact.of(sequential(a, b));
      BOOST_TEST_MESSAGE(row(d.name, k, {medium, dot, high, highest, fma}));
      BOOST_TEST_CONTEXT(d.name << ", k = " << k) {
        // The maximum error due to the omitted products of terms (panel.h), plus the rounding error
        // of the sums.
        const auto bound = [&](int products, double left_out) {
          const std::int64_t block =
              kernels::bf16_split_engine(Bf16Unit::emulated_amx, products).depth_block;
          return left_out + testing::split_sum_bound(products, k, block, true);
        };
        BOOST_TEST(medium.largest < bound(1, 0x1p-7));
        BOOST_TEST(dot.largest < bound(1, 0x1p-7));
        BOOST_TEST(high.largest < bound(3, 0x3p-16));
        BOOST_TEST(highest.largest < 5e-7);
        // Measured values with some margin. The errors of terms are random and average out over a
        // sum.
        BOOST_TEST(medium.rms < 3e-3);
        BOOST_TEST(dot.rms < 3e-3);
        BOOST_TEST(high.rms < 6e-6);
        // float32 accuracy: not worse than the chain of fused multiply-adds.
        BOOST_TEST(highest.rms <= fma.rms);
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
