#include "weft/models/language/ngram.h"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "weft/core/error.h"
#include "weft/tests/support/messages.h"

namespace weft {
namespace {

using testing::check_error;
using Ids = std::vector<std::int32_t>;

BOOST_AUTO_TEST_SUITE(ngrams)

// The text "a b a b a c" contains the bigrams ab and ba twice and ac once. The discount for bigrams
// is D = 1 / (1 + 2 * 2) = 0.2. Each token ends exactly one distinct bigram, so D = 1 for unigrams,
// and every token has probability 1/3.
BOOST_AUTO_TEST_CASE(probabilities_match_values_computed_by_hand) {
  const NGramModel model(Ids{0, 1, 0, 1, 0, 2}, {.order = 2, .vocab = 3});
  BOOST_TEST(model.discount(2) == 0.2, boost::test_tools::tolerance(1e-15));
  BOOST_TEST(model.discount(1) == 1.0, boost::test_tools::tolerance(1e-15));
  const auto p = [&](std::int32_t before, std::int32_t token) {
    return model.probability(Ids{before}, token);
  };
  const auto close = boost::test_tools::tolerance(1e-14);
  BOOST_TEST(p(0, 1) == 1.8 / 3 + 0.4 / 9, close);
  BOOST_TEST(p(0, 2) == 0.8 / 3 + 0.4 / 9, close);
  BOOST_TEST(p(0, 0) == 0.4 / 9, close);
  BOOST_TEST(p(1, 0) == 1.8 / 2 + 0.1 / 3, close);
  BOOST_TEST(p(2, 0) == 1.0 / 3, close);  // no token follows c in the text
  BOOST_TEST(model.probability(Ids{}, 2) == 1.0 / 3, close);
  const double product = 1.0 / 3 * (1.8 / 3 + 0.4 / 9) * (1.8 / 2 + 0.1 / 3);
  BOOST_TEST(model.log_probability(Ids{0, 1, 0}) == std::log(product), close);
  BOOST_TEST(model.perplexity(Ids{0, 1, 0}) == std::pow(product, -1.0 / 3), close);
  BOOST_TEST(model.size() == 6u);
}

BOOST_AUTO_TEST_CASE(probabilities_sum_to_one_for_every_history) {
  Ids ids;
  std::uint32_t state = 1;
  for (int i = 0; i < 500; ++i) {
    state = state * 1664525u + 1013904223u;
    ids.push_back(static_cast<std::int32_t>((state >> 24) % 7));
  }
  for (int order = 1; order <= 4; ++order) {
    // token 7 does not occur in the text
    const NGramModel model(ids, {.order = order, .vocab = 8});
    for (int a = 0; a < 8; ++a) {
      for (int b = 0; b < 8; ++b) {
        double sum = 0;
        for (std::int32_t token = 0; token < 8; ++token) {
          const double p = model.probability(Ids{0, a, b}, token);
          BOOST_TEST(p > 0);
          sum += p;
        }
        BOOST_TEST(sum == 1.0, boost::test_tools::tolerance(1e-12));
      }
    }
  }
}

// The chain rule: the probability of a text is the product of the probabilities of its tokens, each
// given the tokens before it. The probabilities of all texts of one length sum to 1.
BOOST_AUTO_TEST_CASE(the_probabilities_of_all_texts_of_one_length_sum_to_one) {
  const NGramModel model(Ids{0, 1, 2, 0, 1, 1, 0, 2, 2, 0}, {.order = 3, .vocab = 3});
  double sum = 0;
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) {
      for (int c = 0; c < 3; ++c) sum += std::exp(model.log_probability(Ids{a, b, c}));
    }
  }
  BOOST_TEST(sum == 1.0, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(invalid_ngram_arguments_are_rejected) {
  check_error<ArgumentError>([] { NGramModel(Ids{0}, {.order = 0, .vocab = 2}); },
                             {"an n-gram model needs an order of at least 1, not 0"});
  check_error<ArgumentError>([] { NGramModel(Ids{0}, {.order = 1, .vocab = 0}); },
                             {"a vocabulary of at least 1, not 0"});
  check_error<DataError>(
      [] {
        NGramModel(Ids{0, 5}, {.order = 1, .vocab = 2});
      },
      {"token 1 is 5, which is outside the vocabulary of 2"});
  const NGramModel model(Ids{0, 1}, {.order = 1, .vocab = 2});
  check_error<DataError>([&] { model.probability(Ids{}, -1); },
                         {"token -1 is outside the vocabulary of 2"});
  check_error<ArgumentError>([&] { model.perplexity(Ids{}); },
                             {"perplexity needs at least one token"});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace
}  // namespace weft
