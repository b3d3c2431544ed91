#include "weft/models/vectors/word_windows.h"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>

#include "texts.h"
#include "weft/core/error.h"
#include "weft/tests/support/messages.h"

namespace weft::testing {
namespace {

using Example = std::pair<std::vector<std::int32_t>, std::vector<std::int32_t>>;

std::vector<Example> examples(const WordWindows& windows, std::int64_t epoch, std::int64_t begin,
                              std::int64_t end) {
  std::vector<Example> result;
  WordWindows::Scratch scratch;
  windows.for_examples(epoch, begin, end, scratch, [&](const WordWindows::Example& e) {
    result.push_back(
        {{e.context.begin(), e.context.end()}, {e.candidates.begin(), e.candidates.end()}});
  });
  return result;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(word_windows)

BOOST_AUTO_TEST_CASE(windows_do_not_span_sentences) {
  const WordText text = text_of({"a b c", "d", "e f"});
  const WordWindows windows(text, {.window = 1, .negatives = 2, .subsample = 0});
  const auto found = examples(windows, 0, 0, text.size());
  const auto number = [&](const char* word) { return text.counts.find(word); };
  BOOST_REQUIRE_EQUAL(found.size(), 5U);  // the sentence that contains only d yields no example
  const std::vector<std::pair<std::string, std::vector<std::string>>> wanted = {
      {"a", {"b"}}, {"b", {"a", "c"}}, {"c", {"b"}}, {"e", {"f"}}, {"f", {"e"}}};
  for (std::size_t i = 0; i < found.size(); ++i) {
    BOOST_TEST(found[i].second.front() == number(wanted[i].first.c_str()));
    std::vector<std::int32_t> context;
    for (const std::string& word : wanted[i].second) context.push_back(number(word.c_str()));
    BOOST_CHECK((found[i].first == context));
  }
}

BOOST_AUTO_TEST_CASE(examples_do_not_depend_on_how_the_text_is_split) {
  const WordText text = text_of(two_topics(60, 1));
  const WordWindows windows(text, {.window = 4, .negatives = 3, .subsample = 0.02});
  const auto whole = examples(windows, 2, 0, text.size());
  std::vector<Example> parts;
  for (std::int64_t begin = 0; begin < text.size(); begin += 13) {
    const auto more = examples(windows, 2, begin, begin + 13);
    parts.insert(parts.end(), more.begin(), more.end());
  }
  BOOST_CHECK((whole == parts));
  BOOST_CHECK((whole != examples(windows, 3, 0, text.size())));
  const WordWindows other(text, {.window = 4, .negatives = 3, .subsample = 0.02, .seed = 2});
  BOOST_CHECK((whole != examples(other, 2, 0, text.size())));
}

BOOST_AUTO_TEST_CASE(subsampling_and_negatives_have_the_expected_frequencies) {
  std::vector<std::string> sentences;
  for (int i = 0; i < 4000; ++i) sentences.push_back("a a a b a a a b a a a b a a a c");
  const WordText text = text_of(sentences);
  const double subsample = 0.1;
  const WordWindows windows(text, {.window = 3, .negatives = 4, .subsample = subsample});
  std::map<std::int32_t, double> kept, negative_counts;
  double reach = 0, all_negatives = 0;
  for (const Example& e : examples(windows, 0, 0, text.size())) {
    ++kept[e.second.front()];
    reach = std::max(reach, static_cast<double>(e.first.size()));
    if (e.second.front() != 1) continue;  // negative samples for b are a and c
    for (std::size_t i = 1; i < e.second.size(); ++i)
      ++negative_counts[e.second[i]], ++all_negatives;
  }
  BOOST_TEST(reach == 6);
  const double f = 0.75;  // fraction of a
  BOOST_TEST(kept[0] / 48000 == std::sqrt(subsample / f) + subsample / f,
             boost::test_tools::tolerance(0.03));
  BOOST_TEST(kept[2] / 4000 == 1, boost::test_tools::tolerance(0.01));
  BOOST_TEST(negative_counts.count(1) == 0U);
  const double a = std::pow(12, 0.75), c = 1;
  BOOST_TEST(negative_counts[0] / all_negatives == a / (a + c), boost::test_tools::tolerance(0.02));
}

BOOST_AUTO_TEST_CASE(invalid_options_are_rejected) {
  const WordText text = text_of({"a b"}), one = text_of({"a a"});
  check_error<ArgumentError>([&] { WordWindows(text, {.window = 0}); },
                             {"window (0) and negatives (5) must be at least 1"});
  check_error<ArgumentError>([&] { WordWindows(text, {.negatives = 0}); }, {"negatives (0)"});
  check_error<ArgumentError>([&] { WordWindows(text, {.subsample = -1}); },
                             {"subsample must not be negative, but is -1"});
  check_error<ArgumentError>([&] { WordWindows(one, {}); }, {"at least 2 different words"});
}

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft::testing
