#include "weft/tests/reference/random.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/ops/kernels/elementwise/random.h"
#include "weft/ops/op.h"
#include "weft/testing/simd_targets.h"
#include "weft/tests/samples/sample_data.h"

namespace weft {
namespace {

constexpr std::int64_t kSeed = -0x123456789ABCDEF, kRuns = 0x100000007;
constexpr std::int64_t kStream = 9;

Tensor key() { return Tensor::of<std::int64_t>({2}, {kSeed, kRuns}); }
// The step is the lower half of the run counter.
RandomStream stream() { return {static_cast<std::uint64_t>(kSeed), kStream, 7}; }

Tensor draw(const char* op, std::int64_t n, const char* name, Attribute value) {
  return evaluate_op(builtin_ops()->at(op), {key()},
                     {{"shape", Shape{n}}, {"stream", kStream}, {name, std::move(value)}})[0];
}

}  // namespace

BOOST_AUTO_TEST_SUITE(random_ops)

BOOST_AUTO_TEST_CASE(random_words_match_philox_on_every_simd_target) {
  testing::for_each_simd_target([](const char*) {
    for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{0xFFFFFFFE}}) {
      for (const std::int64_t blocks : {0, 1, 2, 3, 4, 5, 7, 8, 9, 17, 31}) {
        std::vector<std::uint32_t> words(static_cast<std::size_t>(4 * blocks));
        kernels::random_words(stream(), first, blocks, words.data());
        for (std::size_t i = 0; i < words.size(); ++i) {
          BOOST_REQUIRE_EQUAL(words[i], stream().word(4 * first + i));
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(random_numbers_match_the_scalar_definition_on_every_simd_target) {
  testing::for_each_simd_target([](const char*) {
    for (const std::int64_t n : {0, 1, 2, 3, 5, 8, 17, 1023, 1025, 70001}) {
      const Tensor u32 = draw("random_uniform", n, "dtype", DType::f32);
      const Tensor u64 = draw("random_uniform", n, "dtype", DType::f64);
      const Tensor n32 = draw("random_normal", n, "dtype", DType::f32);
      const Tensor n64 = draw("random_normal", n, "dtype", DType::f64);
      const Tensor b = draw("random_bernoulli", n, "p", 0.3);
      for (std::int64_t e = 0; e<n; e += n> 5000 ? 97 : 1) {
        const auto i = static_cast<std::uint64_t>(e);
        BOOST_REQUIRE_EQUAL(u32.at(e), testing::reference_uniform_f32(stream(), i));
        BOOST_REQUIRE_EQUAL(u64.at(e), testing::reference_uniform_f64(stream(), i));
        const double normal = testing::reference_normal(stream(), i);
        BOOST_REQUIRE_EQUAL(n64.at(e), normal);
        BOOST_REQUIRE_EQUAL(n32.at(e), static_cast<float>(normal));
        BOOST_REQUIRE_EQUAL(b.at(e) != 0, testing::reference_bernoulli(stream(), i, 0.3));
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(dropout_applies_the_bernoulli_mask_and_scales_kept_elements) {
  testing::for_each_simd_target([](const char*) {
    for (const DType dtype : {DType::f32, DType::f64}) {
      for (const double rate : {0.0, 0.1, 0.5, 0.999}) {
        const Tensor x = sample_uniform({20011}, 8).to(dtype);
        const Tensor y = evaluate_op(builtin_ops()->at("dropout"), {x, key()},
                                     {{"rate", rate}, {"stream", kStream}})[0];
        for (std::int64_t e = 0; e < x.numel(); e += 3) {
          const bool drop =
              testing::reference_bernoulli(stream(), static_cast<std::uint64_t>(e), rate);
          const double kept = dtype == DType::f32
                                  ? static_cast<float>(x.at(e)) * static_cast<float>(1 / (1 - rate))
                                  : x.at(e) * (1 / (1 - rate));
          BOOST_REQUIRE_EQUAL(y.at(e), drop ? 0.0 : kept);
        }
      }
    }
  });
}

BOOST_AUTO_TEST_CASE(probabilities_of_zero_and_one_are_exact) {
  const Tensor never = draw("random_bernoulli", 5000, "p", 0.0);
  const Tensor always = draw("random_bernoulli", 5000, "p", 1.0);
  for (std::int64_t i = 0; i < 5000; ++i) {
    BOOST_REQUIRE_EQUAL(never.at(i), 0);
    BOOST_REQUIRE_EQUAL(always.at(i), 1);
  }
  // The rate is so close to 1 that dropout drops every element, whatever its 32-bit random word is.
  const Tensor gone = evaluate_op(builtin_ops()->at("dropout"), {sample_uniform({4000}, 1), key()},
                                  {{"rate", 1 - 0x1p-40}, {"stream", kStream}})[0];
  for (std::int64_t i = 0; i < 4000; ++i) BOOST_REQUIRE_EQUAL(gone.at(i), 0);
}

BOOST_AUTO_TEST_CASE(moments_match_the_distributions) {
  const std::int64_t n = 200000;
  const Tensor u = draw("random_uniform", n, "dtype", DType::f32);
  const Tensor z = draw("random_normal", n, "dtype", DType::f32);
  double mean_u = 0, mean_z = 0, square_u = 0, square_z = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    BOOST_REQUIRE(u.at(i) >= 0 && u.at(i) < 1);
    mean_u += u.at(i) / static_cast<double>(n);
    mean_z += z.at(i) / static_cast<double>(n);
    square_u += u.at(i) * u.at(i) / static_cast<double>(n);
    square_z += z.at(i) * z.at(i) / static_cast<double>(n);
  }
  BOOST_CHECK_SMALL(mean_u - 0.5, 0.004);
  BOOST_CHECK_SMALL(square_u - 1.0 / 3, 0.004);
  BOOST_CHECK_SMALL(mean_z, 0.01);
  BOOST_CHECK_SMALL(square_z - 1, 0.02);
}

BOOST_AUTO_TEST_CASE(keys_can_be_advanced_and_folded) {
  const Tensor next = evaluate_op(builtin_ops()->at("key_advance"), {key()})[0];
  BOOST_CHECK_EQUAL(next.data<std::int64_t>()[0], kSeed);
  BOOST_CHECK_EQUAL(next.data<std::int64_t>()[1], kRuns + 1);
  const auto fold = [](std::int64_t index) {
    const Tensor i = Tensor::of<std::int64_t>({}, {index});
    return evaluate_op(builtin_ops()->at("key_fold"), {key(), i})[0].to_vector<std::int64_t>();
  };
  BOOST_CHECK(fold(0) == fold(0));
  BOOST_CHECK(fold(0) != fold(1));
  BOOST_CHECK(fold(0)[0] != kSeed);
  BOOST_CHECK_EQUAL(fold(5)[1], kRuns);
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
