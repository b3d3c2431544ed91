// Induction heads emerge in a decoder with two attention layers and no feed-forward layers.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

#include "weft/models/zoo/experiments/induction.h"

namespace weft::zoo {
BOOST_AUTO_TEST_SUITE(induction)
namespace {

double largest(const std::vector<double>& scores) {
  return *std::max_element(scores.begin(), scores.end());
}

BOOST_AUTO_TEST_CASE(an_attention_only_decoder_learns_induction_heads) {
  constexpr std::int64_t kSteps = 700;
  const InductionOptions options = {
      .texts = {.vocab = 64, .length = 40, .shortest = 8, .longest = 14},
      .decoder = {.layers = 2, .feed_forward = false, .rotary = true},
      .batch = 32,
      // Length of the learning-rate schedule. The test stops earlier, while the rate is still high.
      .steps = 2000,
      .learning_rate = 3e-3};
  InductionExperiment experiment(options);
  const InductionFigures before = experiment.evaluate();
  BOOST_TEST(largest(before.induction[1]) < 0.2);
  for (std::int64_t step = 0; step < kSteps; ++step) experiment.train();
  const InductionFigures found = experiment.evaluate();
  // The tokens of the first block are random and distinct, so the model can only learn that they do
  // not repeat. All later tokens repeat the block.
  BOOST_TEST(found.first > 3.5);
  BOOST_TEST(found.repeated < 0.2);
  // A head in the second layer attends to the token that followed the previous occurrence of the
  // current token. No head in the first layer does, but one of them attends to the preceding token,
  // and the second layer depends on it.
  BOOST_TEST(largest(found.induction[1]) > 0.7);
  BOOST_TEST(largest(found.induction[0]) < 0.3);
  BOOST_TEST(largest(found.previous[0]) > 0.3);

  const InductionExperiment::Map map = experiment.map();
  BOOST_TEST(map.period >= 8);
  BOOST_TEST(map.period <= 14);
  BOOST_REQUIRE(map.layers.size() == 2U);
  BOOST_REQUIRE(map.layers[1].size() == 4U);
  for (std::int64_t query = 0; query < 40; ++query) {
    double sum = 0;
    for (std::int64_t key = 0; key < 40; ++key) sum += map.layers[1][0].at(query * 40 + key);
    BOOST_TEST(std::abs(sum - 1) < 1e-5);
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::zoo
