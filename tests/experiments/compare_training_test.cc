// Decoders that are trained on the same batches in turn.
#include "weft/models/zoo/experiments/compare_training.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>

#include "weft/core/error.h"
#include "weft/models/text/tokenizers/character.h"
#include "weft/tests/support/messages.h"

namespace weft::zoo {
BOOST_AUTO_TEST_SUITE(compare_training_experiment)
namespace {

GptConfig small_decoder_config() {
  GptConfig config = GptConfig::llama();
  config.layers = 2;
  config.heads = 2;
  config.width = 16;
  config.inner = 48;
  config.context = 16;
  config.initializer_range = 0.2;
  return config;
}

/// Returns words in a pseudo-random order.
std::string words() {
  std::string text;
  for (unsigned i = 0, state = 1; i < 2000; ++i) {
    state = state * 1664525U + 1013904223U;
    text += (state >> 30) == 0 ? "alpha " : (state >> 30) == 1 ? "beta " : "gamma ";
  }
  return text;
}

BOOST_AUTO_TEST_CASE(a_mixture_has_the_active_parameters_of_the_dense_model) {
  const std::string text = words();
  const CharacterTokenizer letters = CharacterTokenizer::from_text(text);
  const TextData data(letters.encode(text), 0.1);
  GptConfig dense = small_decoder_config();
  dense.vocab = letters.vocab_size();
  const GptConfig mixture = mixture_of(dense, 4, 2);
  TrainSettings settings;
  settings.steps = 60;
  settings.batch = 8;
  settings.lr = 1e-2;
  settings.warmup = 5;
  const auto compare = [&](int threads) {
    return compare_training({dense, mixture}, settings, letters, data, threads);
  };
  const std::vector<ComparedModel> both = compare(1);
  BOOST_REQUIRE(both.size() == 2U);
  const std::int64_t routers = dense.layers * 4 * dense.width;
  const std::int64_t idle = dense.layers * 2 * 3 * dense.width * (dense.inner / 2);
  BOOST_TEST(both[0].active == both[0].parameters);
  BOOST_TEST(both[1].active == both[0].active + routers);
  BOOST_TEST(both[1].parameters == both[1].active + idle);
  const double uniform = std::log(static_cast<double>(dense.vocab));
  for (const ComparedModel& model : both) {
    BOOST_TEST(model.loss < 0.6 * uniform);
    BOOST_TEST(model.seconds > 0);
  }
  const std::vector<ComparedModel> again = compare(2);
  for (std::size_t i : {0, 1}) BOOST_TEST(again[i].loss == both[i].loss);
}

BOOST_AUTO_TEST_CASE(an_inner_width_that_cannot_be_divided_is_rejected) {
  BOOST_CHECK_EXCEPTION(
      mixture_of(small_decoder_config(), 8, 5), ArgumentError,
      testing::message_contains({"the inner width 48 is not a multiple of 5 experts per token"}));
}

}  // namespace
BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::zoo
