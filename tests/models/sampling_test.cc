#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/generate/sampling.h"

namespace weft {
namespace {

// Probabilities 0.1, 0.5, 0.15, 0.25.
const std::vector<float> kLogits = {std::log(0.1F), std::log(0.5F), std::log(0.15F),
                                    std::log(0.25F)};

std::array<double, 4> frequencies(const SamplingOptions& options) {
  std::array<double, 4> counts = {};
  constexpr int kDraws = 20000;
  for (int i = 0; i < kDraws; ++i)
    counts[static_cast<std::size_t>(sample_token(kLogits, options, 0, i))] += 1.0 / kDraws;
  return counts;
}

BOOST_AUTO_TEST_CASE(greedy_takes_the_first_of_the_likeliest) {
  BOOST_TEST(sample_token(kLogits, {.greedy = true}, 0, 0) == 1);
  const std::vector<float> tie = {1, 3, 3};
  BOOST_TEST(sample_token(tie, {.greedy = true}, 0, 5) == 1);
}

BOOST_AUTO_TEST_CASE(draws_follow_the_probabilities) {
  const auto plain = frequencies({});
  BOOST_TEST(std::abs(plain[0] - 0.1) < 0.015);
  BOOST_TEST(std::abs(plain[1] - 0.5) < 0.015);
  BOOST_TEST(std::abs(plain[2] - 0.15) < 0.015);
  // Temperature 1/2 squares them: 0.01, 0.25, 0.0225, 0.0625 of 0.345.
  const auto cold = frequencies({.temperature = 0.5});
  BOOST_TEST(std::abs(cold[1] - 0.25 / 0.345) < 0.015);
  const auto two = frequencies({.top_k = 2});
  BOOST_TEST(two[0] == 0);
  BOOST_TEST(two[2] == 0);
  BOOST_TEST(std::abs(two[1] - 2.0 / 3) < 0.015);
  // 0.5 + 0.25 reaches 0.7: the nucleus has two tokens.
  const auto nucleus = frequencies({.top_p = 0.7});
  BOOST_TEST(nucleus[0] + nucleus[2] == 0);
  const auto most = frequencies({.top_p = 0.8});
  BOOST_TEST(most[0] == 0);
  BOOST_TEST(most[2] > 0.1);
  BOOST_TEST(frequencies({.top_p = 1e-9})[1] == 1, boost::test_tools::tolerance(1e-9));
}

BOOST_AUTO_TEST_CASE(draws_are_a_function_of_seed_row_and_index) {
  std::vector<std::int32_t> first, again, other_seed, other_row;
  for (int i = 0; i < 64; ++i) {
    first.push_back(sample_token(kLogits, {.seed = 3}, 0, i));
    again.push_back(sample_token(kLogits, {.seed = 3}, 0, i));
    other_seed.push_back(sample_token(kLogits, {.seed = 4}, 0, i));
    other_row.push_back(sample_token(kLogits, {.seed = 3}, 1, i));
  }
  BOOST_TEST((first == again));
  BOOST_TEST((first != other_seed));
  BOOST_TEST((first != other_row));
}

BOOST_AUTO_TEST_CASE(wrong_options_and_logits_are_named) {
  const auto check = [](const SamplingOptions& options, const std::string& message) {
    BOOST_CHECK_EXCEPTION(options.check(), ArgumentError, [&](const Error& e) {
      return std::string(e.what()).find(message) != std::string::npos;
    });
  };
  check({.temperature = 0}, "temperature must be positive, not 0");
  check({.top_k = -1}, "top_k must be 0 (all) or more, not -1");
  check({.top_p = 1.5}, "top_p must be in (0, 1], not 1.5");
  const std::vector<float> broken = {0, std::numeric_limits<float>::quiet_NaN()};
  BOOST_CHECK_EXCEPTION(sample_token(broken, {}, 0, 0), DataError, [](const Error& e) {
    return std::string(e.what()).find("not finite") != std::string::npos;
  });
}

}  // namespace
}  // namespace weft
