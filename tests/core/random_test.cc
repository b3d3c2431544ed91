#include "weft/core/random.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>
#include <string>

using namespace weft;

BOOST_AUTO_TEST_SUITE(random_numbers)

// The known answers that the authors of Philox publish with Random123.
BOOST_AUTO_TEST_CASE(philox_matches_the_published_known_answers) {
  const std::uint32_t f = 0xffffffffu;
  BOOST_TEST((philox4x32({0, 0, 0, 0}, {0, 0}) ==
              PhiloxBlock{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}));
  BOOST_TEST((philox4x32({f, f, f, f}, {f, f}) ==
              PhiloxBlock{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu}));
  BOOST_TEST((philox4x32({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u},
                         {0xa4093822u, 0x299f31d0u}) ==
              PhiloxBlock{0xd16cfe09u, 0x94fdcceb, 0x5001e420u, 0x24126ea1u}));
}

BOOST_AUTO_TEST_CASE(random_numbers_depend_on_seed_stream_step_and_index) {
  const RandomStream random{0x299f31d0a4093822u, 0x13198a2eu, 0x03707344u};
  const PhiloxBlock block = random.block(0x85a308d3243f6a88u);
  BOOST_TEST(block[0] == 0xd16cfe09u);
  for (std::uint64_t i = 0; i < 8; ++i) BOOST_TEST(random.word(i) == random.block(i / 4)[i % 4]);
  BOOST_TEST(random.word(0) != RandomStream({random.seed, random.stream, 0}).word(0));
}

BOOST_AUTO_TEST_CASE(uniform_numbers_are_in_range) {
  BOOST_TEST(uniform_float(0) == 0.0f);
  BOOST_TEST(uniform_float(0xffffffffu) == 1.0f - 0x1p-24f);
  BOOST_TEST(uniform_double(0, 0) == 0.0);
  BOOST_TEST(uniform_double(0xffffffffu, 0xffffffffu) == 1.0 - 0x1p-53);
  BOOST_TEST(uniform_below(~std::uint64_t{0}, 10) == 9u);
  BOOST_TEST(uniform_below(0, 10) == 0u);
  BOOST_TEST(uniform_below(std::uint64_t{1} << 63, 10) == 5u);
}

BOOST_AUTO_TEST_CASE(normal_numbers_are_finite_for_extreme_random_words) {
  const std::uint32_t words[] = {0,           1,           0x3fffffffu, 0x40000000u, 0x7fffffffu,
                                 0x80000000u, 0xc0000000u, 0xfffffffeu, 0xffffffffu};
  for (std::uint32_t a : words) {
    for (std::uint32_t b : words) {
      const auto [x, y] = normal_pair(a, b);
      BOOST_TEST(std::isfinite(x));
      BOOST_TEST(std::isfinite(y));
      BOOST_TEST(std::abs(x) < 7.0);
      BOOST_TEST(std::abs(y) < 7.0);
    }
  }
}

BOOST_AUTO_TEST_CASE(normal_numbers_have_the_expected_moments) {
  const RandomStream random{42, 7, 0};
  constexpr int kBlocks = 100000;
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0, cross = 0;
  for (std::uint64_t i = 0; i < kBlocks; ++i) {
    const PhiloxBlock b = random.block(i);
    for (const auto& [x, y] : {normal_pair(b[0], b[1]), normal_pair(b[2], b[3])}) {
      m1 += x + y;
      m2 += x * x + y * y;
      m3 += x * x * x + y * y * y;
      m4 += x * x * x * x + y * y * y * y;
      cross += x * y;
    }
  }
  constexpr double n = 4.0 * kBlocks;
  // Each limit is about five standard errors.
  BOOST_TEST(std::abs(m1 / n) < 0.008);
  BOOST_TEST(std::abs(m2 / n - 1) < 0.012);
  BOOST_TEST(std::abs(m3 / n) < 0.032);
  BOOST_TEST(std::abs(m4 / n - 3) < 0.08);
  BOOST_TEST(std::abs(cross / (n / 2)) < 0.012);
}

BOOST_AUTO_TEST_CASE(stable_hash_has_fixed_values_and_spreads_similar_inputs) {
  BOOST_TEST(stable_hash("") == 0xefd01f60ba992926u);
  BOOST_TEST(stable_hash("weft") == 0x52f622f271ff00e5u);
  BOOST_TEST(stable_hash("weft", 1) == 0x881770ca64515629u);
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) {
    seen.insert(stable_hash("net/block" + std::to_string(i)) >> 32);
    seen.insert(stable_hash("net/block" + std::to_string(i), 1) >> 32);
  }
  BOOST_TEST(seen.size() == 2000u);
}

BOOST_AUTO_TEST_SUITE_END()
