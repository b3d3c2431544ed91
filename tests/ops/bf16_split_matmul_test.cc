// Compares the engines for bfloat16 products with the scalar model of their precision.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <random>

#include "weft/core/error.h"
#include "weft/ops/kernels/gemm/bf16_split/choose.h"
#include "weft/ops/kernels/gemm/bf16_split/engine.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/ops/engine_gemm.h"
#include "weft/tests/reference/bf16_split.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

using kernels::Bf16Unit;
using kernels::GemmEngine;
using kernels::MatrixSource;
using testing::engine_gemm;

struct Way {
  Bf16Unit unit;
  int products;
  bool single_term_b = false;
  const GemmEngine& engine() const {
    return kernels::bf16_split_engine(unit, products, single_term_b);
  }
  // Returns an operand B that the engine accepts.
  Tensor operand_b(const Tensor& b) const {
    return single_term_b ? b.to(DType::bf16).to(DType::f32) : b;
  }
  bool chain() const { return unit == Bf16Unit::dot || unit == Bf16Unit::emulated_dot; }
};

// Returns all engines that this machine can run: the emulated ones always, the hardware ones if
// available.
std::vector<Way> ways() {
  std::vector<Way> result;
  for (const Bf16Unit unit : {Bf16Unit::emulated_amx, Bf16Unit::amx}) {
    if (!kernels::bf16_unit_available(unit)) continue;
    for (const int products : {1, 3, 6}) result.push_back({unit, products});
    for (const int products : {2, 3}) result.push_back({unit, products, true});
  }
  for (const Bf16Unit unit : {Bf16Unit::emulated_dot, Bf16Unit::dot}) {
    if (kernels::bf16_unit_available(unit)) result.push_back({unit, 1});
  }
  return result;
}

// The bound holds for sums of at least 2^-126. The units flush smaller sums to zero, but the total
// flushed amount is below 2^-100.
void check_against_model(const Way& way, const Tensor& c, const Tensor& a, const Tensor& b,
                         bool fallback = false) {
  const GemmEngine& engine = way.engine();
  const auto model =
      testing::model_bf16_split(a, b, way.products, engine.depth_block, way.single_term_b);
  const double bound = testing::split_sum_bound(way.products, a.size(1), engine.depth_block,
                                                way.chain() || fallback);
  for (std::int64_t i = 0; i < c.numel(); ++i) {
    const double difference = std::abs(c.at(i) - model.value.at(i));
    BOOST_REQUIRE_LE(difference, bound * model.magnitude.at(i) + 0x1p-126);
  }
}

Tensor spread(Sizes sizes, std::uint64_t seed, int orders) {
  Tensor t = sample_uniform(std::move(sizes), seed, -1, 1);
  std::mt19937_64 random(seed);
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    float& x = t.mutable_data<float>()[i];
    x = std::ldexp(x, static_cast<int>(random() % static_cast<unsigned>(orders + 1)) - orders / 2);
  }
  return t;
}

Tensor transposed(const Tensor& t) {
  Tensor result = Tensor::empty(t.dtype(), {t.size(1), t.size(0)});
  for (std::int64_t i = 0; i < t.size(0); ++i) {
    for (std::int64_t j = 0; j < t.size(1); ++j) {
      result.mutable_data<float>()[j * t.size(0) + i] = t.data<float>()[i * t.size(1) + j];
    }
  }
  return result;
}

bool same_bits_or_nan(float a, float b) {
  return std::memcmp(&a, &b, sizeof(a)) == 0 || (std::isnan(a) && std::isnan(b));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bf16_split_matmul)

BOOST_AUTO_TEST_CASE(engines_match_the_model_for_every_size_and_stride) {
  testing::for_each_simd_target([](const char* target) {
    for (const Way& way : ways()) {
      const GemmEngine& engine = way.engine();
      BOOST_TEST_CONTEXT(engine.name << " on " << target) {
        for (const std::int64_t m : {1, 16, 33, 64}) {
          for (const std::int64_t n : {1, 17, 32, 70}) {
            for (const std::int64_t k : {1, 31, 64, 70}) {
              const Tensor a = spread({m, k}, 1, 8), b = way.operand_b(spread({k, n}, 2, 8));
              const Tensor c = engine_gemm(engine, a, b);
              check_against_model(way, c, a, b);
              // The memory layout of the operands does not change the bits.
              const Tensor at = transposed(a), bt = transposed(b);
              const Tensor other = engine_gemm(engine, {at.raw(), DType::f32, 1, m},
                                               {bt.raw(), DType::f32, 1, k}, m, n, k);
              BOOST_REQUIRE(bitwise_equal(other, c));
            }
          }
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(blocks_of_k_are_summed_and_added_to_c) {
  for (const Way& way : ways()) {
    const GemmEngine& engine = way.engine();
    BOOST_TEST_CONTEXT(engine.name) {
      const std::int64_t k = 2 * engine.depth_block + 37;
      const Tensor a = spread({35, k}, 3, 8), b = way.operand_b(spread({k, 40}, 4, 8));
      const Tensor c = engine_gemm(engine, a, b);
      check_against_model(way, c, a, b);
      // A denormal in C is preserved when a product of zeros is added, although the units would
      // flush it.
      Tensor tiny = Tensor::full(DType::f32, {35, 40}, 1e-40);
      const Tensor zeros = Tensor::zeros(DType::f32, {35, 40});
      const MatrixSource zero{zeros.raw(), DType::f32, 40, 1};
      BOOST_TEST(bitwise_equal(engine_gemm(engine, zero, zero, 35, 40, 32, &tiny), tiny));
    }
  }
}

BOOST_AUTO_TEST_CASE(bits_depend_only_on_the_row_and_the_column) {
  for (const Way& way : ways()) {
    const GemmEngine& engine = way.engine();
    BOOST_TEST_CONTEXT(engine.name) {
      Tensor a = spread({50, 90}, 5, 8), b = way.operand_b(spread({90, 50}, 6, 8));
      a.mutable_data<float>()[3 * 90 + 5] = 1e-39f;       // row 3 falls back to multiply-adds
      b.mutable_data<float>()[4 * 50 + 41] = 0x1.8p127f;  // column 41 also falls back
      for (int i = 0; i < 50; ++i) a.mutable_data<float>()[i * 90 + 4] *= 0x1p-12f;
      const Tensor whole = engine_gemm(engine, a, b);
      const MatrixSource from_a{a.raw(), DType::f32, 90, 1}, from_b{b.raw(), DType::f32, 50, 1};
      for (const auto& [i, j] : {std::pair{1, 2}, {3, 3}, {40, 41}, {17, 20}}) {
        const Tensor part =
            engine_gemm(engine, from_a.from(i, 0), from_b.from(0, j), 50 - i, 50 - j, 90);
        for (std::int64_t r = 0; r < 50 - i; ++r) {
          BOOST_REQUIRE(std::memcmp(part.data<float>() + r * (50 - j),
                                    whole.data<float>() + (i + r) * 50 + j,
                                    static_cast<std::size_t>(50 - j) * sizeof(float)) == 0);
        }
      }
      check_against_model(way, whole, a, b, true);
    }
  }
}

// Infinities, NaNs, denormals, huge values and overflowing sums give the same results as fused
// multiply-adds and do not affect other rows and columns.
BOOST_AUTO_TEST_CASE(out_of_range_values_give_the_same_results_as_fused_multiply_adds) {
  constexpr float inf = INFINITY;
  struct Case {
    const char* name;
    float a, b;              // values of A(2, 7) and B(7, 5)
    float scale_a, scale_b;  // scales of all other elements
  };
  const Case cases[] = {{"infinity", inf, 2, 1, 1},
                        {"minus infinity", 1, -inf, 1, 1},
                        {"infinity by zero", inf, 0, 1, 1},
                        {"nan", NAN, 1, 1, 1},
                        {"denormal", 1e-40f, 1, 1, 1},
                        {"largest float", 3.4e38f, 1e-3f, 1, 1},
                        {"denormals", 1e-40f, 1, 1e-40f, 1},
                        {"tiny products", 1e-25f, 1e-20f, 1e-25f, 1e-20f},
                        {"huge products", 1e25f, 1e13f, 1, 1},
                        {"overflow", 1e25f, 1e25f, 1, 1},
                        {"tiny and huge", 1e-35f, 1e35f, 1e-35f, 1e35f}};
  const std::int64_t m = 35, n = 36, k = 40;
  for (const Way& way : ways()) {
    const GemmEngine& engine = way.engine();
    for (const Case& t : cases) {
      BOOST_TEST_CONTEXT(engine.name << ", " << t.name) {
        Tensor a = spread({m, k}, 7, 4), b = spread({k, n}, 8, 4);
        for (std::int64_t i = 0; i < m * k; ++i) a.mutable_data<float>()[i] *= t.scale_a;
        for (std::int64_t i = 0; i < k * n; ++i) b.mutable_data<float>()[i] *= t.scale_b;
        a.mutable_data<float>()[2 * k + 7] = t.a;
        b.mutable_data<float>()[7 * n + 5] = t.b;
        b = way.operand_b(b);
        const Tensor c = engine_gemm(engine, a, b);
        for (std::int64_t i = 0; i < m; ++i) {
          for (std::int64_t j = 0; j < n; ++j) {
            float chain = 0;
            double exact = 0, magnitude = 0;
            for (std::int64_t p = 0; p < k; ++p) {
              const float x = a.data<float>()[i * k + p], y = b.data<float>()[p * n + j];
              chain = std::fma(x, y, chain);
              exact += double{x} * y;
              magnitude += std::abs(double{x} * y);
            }
            const float actual = c.data<float>()[i * n + j];
            if (!std::isfinite(chain)) {
              BOOST_REQUIRE(same_bits_or_nan(actual, chain));
            } else {
              const int terms =
                  way.single_term_b ? way.products : testing::split_terms_of(way.products);
              const double relative = terms == 1 ? 0x1p-7 : terms == 2 ? 3e-5 : 3e-6;
              // A denormal sum rounds to a multiple of 2^-149 at every step.
              const double absolute = static_cast<double>(k) * 0x1p-150;
              BOOST_REQUIRE_SMALL(actual - exact, relative * magnitude + absolute);
            }
          }
        }
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(half_precision_operands_are_represented_exactly) {
  const Tensor a = spread({33, 64}, 9, 8).to(DType::bf16),
               b = spread({64, 20}, 10, 8).to(DType::bf16);
  const Tensor a32 = a.to(DType::f32), b32 = b.to(DType::f32);
  for (const Way& way : ways()) {
    BOOST_TEST_CONTEXT(way.engine().name) {
      const Tensor c = engine_gemm(way.engine(), a, b);
      BOOST_TEST(bitwise_equal(c, engine_gemm(way.engine(), a32, b32)));
      check_against_model(way, c, a32, b32);
    }
  }
}

BOOST_AUTO_TEST_CASE(unsupported_product_counts_are_rejected) {
  const auto message = [](Bf16Unit unit, int products, bool single_term_b = false) {
    try {
      kernels::bf16_split_engine(unit, products, single_term_b);
    } catch (const ArgumentError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  BOOST_TEST(message(Bf16Unit::dot, 3)
                 .find("no engine with 3 products on unit dot; amx supports 1, 3 "
                       "and 6 products (2 and 3 for one term of B), and dot supports 1") !=
             std::string::npos);
  for (const Bf16Unit unit : {Bf16Unit::dot, Bf16Unit::emulated_amx}) {
    BOOST_TEST(message(unit, 1, true).find("no engine with 1 products for one term of B") !=
               std::string::npos);
  }
  BOOST_TEST(
      message(Bf16Unit::emulated_amx, 2).find("no engine with 2 products on unit emulated amx") !=
      std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_engine_choice_depends_on_precision_shape_and_cpu_features) {
  using kernels::Bf16SplitChoice;
  using kernels::choose_bf16_split;
  const kernels::Bf16Cpu none{}, intel{.amx = true, .dot = true, .fast_dot = false},
      slow_dot{.amx = false, .dot = true, .fast_dot = false},
      amd{.amx = false, .dot = true, .fast_dot = true};
  const auto on = [](Bf16Unit unit, int products) {
    return std::optional(Bf16SplitChoice{unit, products});
  };
  const auto fma = std::optional<Bf16SplitChoice>();
  for (const Precision precision : {Precision::highest, Precision::high, Precision::medium}) {
    BOOST_CHECK(choose_bf16_split(none, precision, 1024, 1024, 1024) == fma);
    BOOST_CHECK(choose_bf16_split(slow_dot, precision, 1024, 1024, 1024) == fma);
    BOOST_CHECK(choose_bf16_split(intel, precision, 1, 1024, 1024) == fma);
    BOOST_CHECK(choose_bf16_split(intel, precision, 1024, 8, 1024) == fma);
    BOOST_CHECK(choose_bf16_split(intel, precision, 1024, 1024, 16) == fma);
  }
  BOOST_CHECK(choose_bf16_split(intel, Precision::highest, 64, 64, 64) == on(Bf16Unit::amx, 6));
  BOOST_CHECK(choose_bf16_split(intel, Precision::highest, 63, 64, 64) == fma);
  BOOST_CHECK(choose_bf16_split(intel, Precision::high, 32, 32, 32) == on(Bf16Unit::amx, 3));
  BOOST_CHECK(choose_bf16_split(intel, Precision::medium, 32, 32, 32) == on(Bf16Unit::amx, 1));
  BOOST_CHECK(choose_bf16_split(amd, Precision::medium, 64, 64, 64) == on(Bf16Unit::dot, 1));
  // If B is bfloat16, a term of A takes one product.
  const auto single = [](int products) {
    return std::optional(Bf16SplitChoice{Bf16Unit::amx, products, true});
  };
  BOOST_CHECK(choose_bf16_split(intel, Precision::highest, 32, 32, 32, true) == single(3));
  BOOST_CHECK(choose_bf16_split(intel, Precision::highest, 31, 32, 32, true) == fma);
  BOOST_CHECK(choose_bf16_split(intel, Precision::high, 32, 32, 32, true) == single(2));
  BOOST_CHECK(choose_bf16_split(intel, Precision::medium, 32, 32, 32, true) ==
              on(Bf16Unit::amx, 1));
  BOOST_CHECK(choose_bf16_split(amd, Precision::highest, 64, 64, 64, true) == fma);
  BOOST_CHECK(choose_bf16_split(amd, Precision::medium, 64, 64, 64, true) == on(Bf16Unit::dot, 1));
  BOOST_CHECK(choose_bf16_split(amd, Precision::high, 1024, 1024, 1024) == fma);
  BOOST_CHECK(choose_bf16_split(amd, Precision::highest, 1024, 1024, 1024) == fma);
}

BOOST_AUTO_TEST_CASE(tests_can_force_a_matrix_unit) {
  {
    const kernels::ForcedBf16Unit forced(Bf16Unit::emulated_amx);
    const GemmEngine* engine = kernels::choose_bf16_split_engine(Precision::highest, 1, 1, 1);
    BOOST_TEST(engine == &kernels::bf16_split_engine(Bf16Unit::emulated_amx, 6));
  }
  {
    const kernels::ForcedBf16Unit forced(Bf16Unit::emulated_dot);
    BOOST_TEST(kernels::choose_bf16_split_engine(Precision::highest, 64, 64, 64) == nullptr);
    BOOST_TEST(kernels::choose_bf16_split_engine(Precision::medium, 64, 64, 64) ==
               &kernels::bf16_split_engine(Bf16Unit::emulated_dot, 1));
  }
  {
    // A single product represents bfloat16 matrices exactly, so it is used at every precision.
    const kernels::ForcedBf16Unit forced(Bf16Unit::emulated_amx);
    const auto chosen = [](DType a, DType b) {
      return &kernels::choose_engine(DType::f32, a, b, Precision::highest, 64, 64, 64);
    };
    BOOST_TEST(chosen(DType::bf16, DType::bf16) ==
               &kernels::bf16_split_engine(Bf16Unit::emulated_amx, 1));
    BOOST_TEST(chosen(DType::bf16, DType::f32) ==
               &kernels::bf16_split_engine(Bf16Unit::emulated_amx, 6));
    // Floats are multiplied by bfloat16 weights with one product per term of the floats.
    BOOST_TEST(chosen(DType::f32, DType::bf16) ==
               &kernels::bf16_split_engine(Bf16Unit::emulated_amx, 3, true));
  }
  const kernels::ForcedBf16Unit forced(std::nullopt);
  BOOST_TEST(kernels::choose_bf16_split_engine(Precision::medium, 512, 512, 512) == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
