// The word error rate.
#include <boost/test/unit_test.hpp>

#include "weft/core/error.h"
#include "weft/models/metrics/word_error_rate.h"
#include "weft/tests/support/messages.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(word_errors)

BOOST_AUTO_TEST_CASE(the_word_error_rate_counts_edits_of_words) {
  const auto rate = [](const std::string& output, const std::string& reference) {
    return word_error_rate({output}, {reference});
  };
  BOOST_TEST(rate("a b c d", "a b c d") == 0);
  BOOST_TEST(rate("a x c d", "a b c d") == 0.25);    // substitution
  BOOST_TEST(rate("a c d", "a b c d") == 0.25);      // deletion
  BOOST_TEST(rate("a b b c d", "a b c d") == 0.25);  // insertion
  BOOST_TEST(rate("b c d a", "a b c d") == 0.5);     // one of each kind
  BOOST_TEST(rate("", "a b") == 1);
  BOOST_TEST(rate("a b c d e f", "x y") == 3);  // more errors than words
  BOOST_TEST(rate(" a\t b\n", "a b") == 0);
  BOOST_TEST(rate("A b", "a b") == 0.5);  // no normalisation
  BOOST_TEST(rate("", "") == 0);
  // The errors and words of all texts are summed.
  BOOST_TEST(word_error_rate({"a", "x y z"}, {"b", "x y z"}) == 0.25);
  BOOST_TEST(word_error_rate({}, {}) == 0);
}

BOOST_AUTO_TEST_CASE(undefined_word_error_rates_are_errors) {
  BOOST_CHECK_EXCEPTION(word_error_rate({"a"}, {}), ArgumentError,
                        testing::says("there are 1 outputs, but 0 references"));
  BOOST_CHECK_EXCEPTION(word_error_rate({"a"}, {" "}), DataError,
                        testing::says("the references contain no words"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
