// In-context learning: a decoder learns the tasks "copy" and "+1" from sequences, and infers from
// the examples in a prompt which task applies.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/models/zoo/experiments/prompts.h"

namespace weft::zoo {
BOOST_AUTO_TEST_SUITE(prompts)
namespace {

BOOST_AUTO_TEST_CASE(one_example_is_enough_for_bayes_rule_if_no_example_is_wrong) {
  PromptExperiment experiment({.texts = {.symbols = 9, .shifts = 4, .examples = 5, .wrong = 1e-6},
                               .decoder = {.layers = 1}});
  const PromptAccuracies found = experiment.evaluate(1);
  BOOST_TEST(std::abs(found.bayes[0] - 0.25) < 0.08);
  for (std::size_t k = 1; k < 5; ++k) BOOST_TEST(found.bayes[k] == 1);
}

BOOST_AUTO_TEST_CASE(a_decoder_learns_copy_and_plus_one_and_infers_the_task_from_examples) {
  const PromptOptions options = {
      .texts = {.symbols = 8, .shifts = 2, .examples = 8, .wrong = 0.15},
      .decoder = {.layers = 2, .rotary = true},
      .batch = 32,
      // Length of the learning-rate schedule. The test stops earlier, while the rate is still high.
      .steps = 1200,
      .learning_rate = 2e-3};
  PromptExperiment experiment(options);
  for (std::int64_t step = 0; step < 300; ++step) experiment.train();
  const PromptAccuracies found = experiment.evaluate(2000);
  BOOST_TEST(found.all[0] < 0.6);  // the prompt has no example yet
  BOOST_TEST(found.all[1] > 0.75);
  BOOST_TEST(found.copy[7] > 0.7);
  BOOST_TEST(found.plus_one[7] > 0.7);
  for (std::size_t k = 1; k < 8; ++k) {
    BOOST_TEST(found.all[k] > 0.75);  // chance level is 0.5
    BOOST_TEST(found.all[k] < found.bayes[k] + 0.03);
  }
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::zoo
