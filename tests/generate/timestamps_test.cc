// The rules for timestamps in the output of speech recognition.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>

#include "weft/models/generate/logits_rules.h"
#include "weft/models/generate/next_id.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(timestamps)
namespace {

// Ids 0 to 4 are text, 5 is the end, 6 is "no timestamps", and 7 to 12 are times.
constexpr std::int64_t kEnd = 5, kNone = 6, kFirst = 7, kVocab = 13;

/// Returns the ids that may follow `made` after two ids at the start.
std::vector<std::int64_t> allowed(TokenIds made, std::vector<double> scores,
                                  std::int64_t max_initial = -1) {
  GenerationOptions options{.max_length = 40, .eos_id = kEnd};
  options.timestamps = {.first_id = kFirst, .no_timestamps_id = kNone, .max_initial = max_initial};
  TokenIds ids = {9, 1};  // a time among the ids of the start has no effect
  ids.insert(ids.end(), made.begin(), made.end());
  apply_rules(options, length_rules(options, 2), ids, scores);
  std::vector<std::int64_t> left;
  for (std::int64_t id = 0; id < std::ssize(scores); ++id) {
    if (scores[static_cast<std::size_t>(id)] != kForbidden) left.push_back(id);
  }
  return left;
}
/// Scores with which text is more likely than all times together.
std::vector<double> text_scores() {
  std::vector<double> scores(kVocab, 0);
  scores[2] = 10;
  return scores;
}
std::vector<double> equal_scores() { return std::vector<double>(kVocab, 0); }
using Ids = std::vector<std::int64_t>;

}  // namespace

BOOST_AUTO_TEST_CASE(an_output_begins_with_a_timestamp) {
  BOOST_TEST((allowed({}, text_scores()) == Ids{7, 8, 9, 10, 11, 12}));
  BOOST_TEST((allowed({}, text_scores(), 1) == Ids{7, 8}));
  BOOST_TEST((allowed({}, text_scores(), 0) == Ids{7}));
  for (const std::int64_t any : {std::int64_t{100}, std::numeric_limits<std::int64_t>::max()})
    BOOST_TEST((allowed({}, text_scores(), any) == Ids{7, 8, 9, 10, 11, 12}));
}

BOOST_AUTO_TEST_CASE(timestamps_occur_in_pairs) {
  // After the beginning of a segment: text or the end.
  BOOST_TEST((allowed({8}, text_scores()) == Ids{0, 1, 2, 3, 4, 5}));
  BOOST_TEST((allowed({8, 1, 9, 9}, text_scores()) == Ids{0, 1, 2, 3, 4, 5}));
  // After the end of a segment: the beginning of the next one at this time or later, or the end.
  BOOST_TEST((allowed({8, 1, 9}, text_scores()) == Ids{9, 10, 11, 12}));
  std::vector<double> end = text_scores();
  end[kEnd] = 20;
  BOOST_TEST((allowed({8, 1, 9}, end) == Ids{5, 9, 10, 11, 12}));
}

BOOST_AUTO_TEST_CASE(timestamps_do_not_decrease_and_segments_are_not_empty) {
  BOOST_TEST((allowed({9, 1}, text_scores()) == Ids{0, 1, 2, 3, 4, 5, 10, 11, 12}));
  BOOST_TEST((allowed({9, 1, 10, 11, 2, 3}, text_scores()) == Ids{0, 1, 2, 3, 4, 5, 12}));
  BOOST_TEST((allowed({9, 1, 12, 12, 2}, text_scores()) == Ids{0, 1, 2, 3, 4, 5}));
}

BOOST_AUTO_TEST_CASE(a_timestamp_follows_if_all_times_together_are_more_likely_than_any_text) {
  // Four times with the probability of each text id.
  BOOST_TEST((allowed({8, 1}, equal_scores()) == Ids{9, 10, 11, 12}));
  std::vector<double> scores = equal_scores();
  scores[3] = std::log(3.9);
  BOOST_TEST((allowed({8, 1}, scores) == Ids{9, 10, 11, 12}));
  scores[3] = std::log(4.1);
  BOOST_TEST((allowed({8, 1}, scores) == Ids{0, 1, 2, 3, 4, 5, 9, 10, 11, 12}));
}

BOOST_AUTO_TEST_CASE(log_probabilities_are_those_after_the_rules_and_before_the_filters) {
  GenerationOptions options{.max_length = 9, .bad_token_ids = {3}};
  const LengthRules lengths = length_rules(options, 1);
  for (const bool sampled : {false, true}) {
    if (sampled) options.sampling = SamplingOptions{.temperature = 0.1, .top_k = 1};
    const std::vector<float> logits = {0, std::log(2.0F), 0, 9};
    std::vector<double> scores;
    const NewToken next = next_id(options, lengths, Ids{0}, 0, "row", logits, scores, 2);
    BOOST_TEST(next.token.id == 1);
    BOOST_TEST(next.token.log_probability == std::log(0.5), boost::test_tools::tolerance(1e-7));
    BOOST_TEST_REQUIRE(next.top.size() == 2U);
    BOOST_TEST(next.top[0].id == 1);
    BOOST_TEST(next.top[0].log_probability == next.token.log_probability);
    BOOST_TEST(next.top[1].id == 0);  // as likely as 2
    BOOST_TEST(next.top[1].log_probability == std::log(0.25), boost::test_tools::tolerance(1e-7));
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace weft
