// Sampling: filters are compared with values computed by hand, and sample frequencies with exact
// probabilities.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "weft/core/error.h"
#include "weft/models/generate/logits_rules.h"
#include "weft/models/generate/sampling.h"

namespace weft {
BOOST_AUTO_TEST_SUITE(sampling)
namespace {

// The softmax of these scores is {0.1, 0.5, 0.15, 0.25}.
const std::vector<double> kScores = {std::log(0.1), std::log(0.5), std::log(0.15), std::log(0.25)};

std::vector<double> softmax(const std::vector<double>& scores) {
  double total = 0;
  for (const double s : scores) total += std::exp(s);
  std::vector<double> p;
  for (const double s : scores) p.push_back(std::exp(s) / total);
  return p;
}

/// Returns the probabilities after filtering.
std::vector<double> filtered(const SamplingOptions& options, std::vector<double> scores = kScores) {
  filter_scores(options, scores);
  return softmax(scores);
}

void check_close(const std::vector<double>& actual, const std::vector<double>& expected) {
  BOOST_TEST_REQUIRE(actual.size() == expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i)
    BOOST_TEST(std::abs(actual[i] - expected[i]) < 1e-12, actual[i] << " at " << i);
}

BOOST_AUTO_TEST_CASE(filters_match_their_definitions) {
  check_close(filtered({}), {0.1, 0.5, 0.15, 0.25});
  // A temperature of 1/2 squares the probabilities: 0.01, 0.25, 0.0225, 0.0625. Their sum is 0.345.
  check_close(filtered({.temperature = 0.5}),
              {0.01 / 0.345, 0.25 / 0.345, 0.0225 / 0.345, 0.0625 / 0.345});
  check_close(filtered({.top_k = 2}), {0, 2.0 / 3, 0, 1.0 / 3});
  check_close(filtered({.top_k = 9}), {0.1, 0.5, 0.15, 0.25});
  // The two largest probabilities sum to 0.75, which is at least 0.7 but less than 0.8.
  check_close(filtered({.top_p = 0.7}), {0, 2.0 / 3, 0, 1.0 / 3});
  check_close(filtered({.top_p = 0.8}), {0, 0.5 / 0.9, 0.15 / 0.9, 0.25 / 0.9});
  check_close(filtered({.top_p = 1e-9}), {0, 1, 0, 0});
  // Probabilities must be at least 0.4 * 0.5.
  check_close(filtered({.min_p = 0.4}), {0, 2.0 / 3, 0, 1.0 / 3});
  check_close(filtered({.min_p = 1}), {0, 1, 0, 0});
  // Ids that are as likely as the k-th one are also kept, as in Hugging Face Transformers.
  check_close(filtered({.top_k = 2}, {1, 3, 1, 1}), softmax({1, 3, 1, 1}));
  // Probabilities are renormalised after each filter. Among the 3 most likely ids, 0.5 / 0.9
  // reaches 0.55.
  check_close(filtered({.top_k = 3, .top_p = 0.55}), {0, 1, 0, 0});
  // The temperature is applied first. The sum is then 0.345, and 0.345 * 0.7 = 0.2415 < 0.25, so
  // one id is enough.
  check_close(filtered({.temperature = 0.5, .top_p = 0.7}), {0, 1, 0, 0});
  // min_p is also applied after the temperature. The second-largest probability is then 0.0625 /
  // 0.25 = 0.25 of the largest, which is less than 0.3.
  check_close(filtered({.temperature = 0.5, .min_p = 0.3}), {0, 1, 0, 0});
}

BOOST_AUTO_TEST_CASE(top_p_keeps_the_smallest_set_of_most_likely_ids_in_large_vocabularies) {
  constexpr std::size_t kVocab = 5000;
  for (const double spread : {0.0, 0.01, 1.0, 30.0, 400.0}) {
    std::vector<double> scores(kVocab);
    std::uint64_t state = 7;
    for (double& score : scores) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      // Multiples of 1/8, so that many ids are equally likely.
      score = spread * (static_cast<double>(state >> 58) - 63) / 8;
    }
    std::fill(scores.begin(), scores.begin() + 100, kForbidden);
    std::vector<std::size_t> order(kVocab);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
    const std::vector<double> p = softmax(scores);
    for (const double top_p : {1e-9, 0.1234, 0.5678, 0.9, 0.9876}) {
      std::vector<double> kept = scores;
      filter_scores({.top_p = top_p}, kept);
      double before = 0;
      for (const std::size_t i : order) {
        const bool inside = before < top_p && scores[i] != kForbidden;
        BOOST_TEST_REQUIRE((kept[i] != kForbidden) == inside, spread << " " << top_p << " " << i);
        before += p[i];
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(samples_follow_the_probabilities) {
  constexpr int kDraws = 20000;
  // The 0.999 quantiles of the chi-square distribution, indexed by degrees of freedom.
  const double most[] = {0, 10.83, 13.82, 16.27};
  for (const SamplingOptions& options :
       {SamplingOptions{}, SamplingOptions{.temperature = 0.5}, SamplingOptions{.temperature = 2},
        SamplingOptions{.top_k = 2}, SamplingOptions{.top_p = 0.8}, SamplingOptions{.min_p = 0.25},
        SamplingOptions{.temperature = 1.5, .top_k = 3, .top_p = 0.95, .min_p = 0.1, .seed = 9}}) {
    std::vector<double> scores = kScores;
    filter_scores(options, scores);
    const std::vector<double> p = softmax(scores);
    std::vector<int> counts(p.size());
    for (int i = 0; i < kDraws; ++i)
      ++counts[static_cast<std::size_t>(sample_id(scores, options.seed, 0, i))];
    double chi_square = 0;
    int kinds = 0;
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (p[i] == 0) {
        BOOST_TEST(counts[i] == 0);
        continue;
      }
      ++kinds;
      const double expected = p[i] * kDraws;
      chi_square += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    BOOST_TEST(chi_square < most[kinds - 1]);
  }
}

BOOST_AUTO_TEST_CASE(samples_are_a_function_of_seed_row_and_index) {
  std::vector<std::int64_t> first, again, other_seed, other_row;
  for (int i = 0; i < 64; ++i) {
    first.push_back(sample_id(kScores, 3, 0, i));
    again.push_back(sample_id(kScores, 3, 0, i));
    other_seed.push_back(sample_id(kScores, 4, 0, i));
    other_row.push_back(sample_id(kScores, 3, 1, i));
  }
  BOOST_TEST((first == again));
  BOOST_TEST((first != other_seed));
  BOOST_TEST((first != other_row));
}

/// Returns the scores after applying the rules for the ids generated so far.
std::vector<double> scores_after_rules(const GenerationOptions& options, const TokenIds& ids,
                                       std::vector<double> scores, std::int64_t start = 1) {
  apply_rules(options, length_rules(options, start), ids, scores);
  return scores;
}

BOOST_AUTO_TEST_CASE(repetition_rules_match_their_definitions_for_all_short_texts) {
  constexpr std::int64_t kVocab = 3;
  const auto ends_with = [](const TokenIds& text, const TokenIds& end) {
    return text.size() >= end.size() && std::equal(end.rbegin(), end.rend(), text.rbegin());
  };
  const TokenIds sequences[] = {{1}, {0, 2}, {2, 2, 0}, {1, 0, 1, 2}};
  std::vector<TokenIds> texts = {{}};
  for (std::size_t i = 0; i < texts.size() && texts[i].size() < 6; ++i) {
    for (std::int64_t id = 0; id < kVocab; ++id) {
      texts.push_back(texts[i]);
      texts.back().push_back(id);
    }
  }
  int wrong = 0;
  for (const TokenIds& text : texts) {
    if (text.empty()) continue;
    for (std::size_t k = 1; k <= 4; ++k) {
      const auto no_repeat =
          scores_after_rules({.no_repeat_ngram = static_cast<std::int64_t>(k)}, text, {1, 1, 1});
      const TokenIds& sequence = sequences[k - 1];
      const auto no_sequence =
          scores_after_rules({.bad_token_sequences = {sequence}}, text, {1, 1, 1});
      for (std::int64_t id = 0; id < kVocab; ++id) {
        TokenIds after = text;
        after.push_back(id);
        // True if the last k ids also occur earlier, possibly overlapping.
        bool repeats = false;
        for (std::size_t end = k; end < after.size(); ++end) {
          const TokenIds earlier(after.begin() + static_cast<std::ptrdiff_t>(end - k),
                                 after.begin() + static_cast<std::ptrdiff_t>(end));
          repeats = repeats || ends_with(after, earlier);
        }
        const auto i = static_cast<std::size_t>(id);
        wrong += (no_repeat[i] == kForbidden) != repeats;
        wrong += (no_sequence[i] == kForbidden) != ends_with(after, sequence);
      }
    }
  }
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(rules_match_hugging_face_logits_processors) {
  const double no = kForbidden;
  using Scores = std::vector<double>;
  const Scores scores = {2, -2, 4, -4};
  // For each id that has occurred, a positive score is divided by the penalty and a negative score
  // is multiplied by it, once.
  BOOST_TEST((scores_after_rules({.repetition_penalty = 2}, {0, 1, 1, 0}, scores) ==
              Scores{1, -4, 4, -4}));
  BOOST_TEST(
      (scores_after_rules({.repetition_penalty = 0.5}, {3}, scores) == Scores{2, -2, 4, -2}));
  // The pairs 1 2 and 1 3 have occurred, so neither 2 nor 3 may follow 1 again.
  BOOST_TEST((scores_after_rules({.no_repeat_ngram = 2}, {1, 2, 1, 3, 1}, scores) ==
              Scores{2, -2, no, no}));
  BOOST_TEST((scores_after_rules({.no_repeat_ngram = 3}, {1, 2, 0, 1, 2}, scores) ==
              Scores{no, -2, 4, -4}));
  BOOST_TEST((scores_after_rules({.no_repeat_ngram = 3}, {1, 2}, scores) == scores));
  BOOST_TEST((scores_after_rules({.no_repeat_ngram = 1}, {1, 3}, scores) == Scores{2, no, 4, no}));
  BOOST_TEST((scores_after_rules({.bad_token_ids = {2}}, {0}, scores) == Scores{2, -2, no, -4}));
  BOOST_TEST((scores_after_rules({.bad_token_sequences = {{0, 1, 2}, {3, 0}}}, {0, 1}, scores) ==
              Scores{2, -2, no, -4}));
  BOOST_TEST((scores_after_rules({.bad_token_sequences = {{0, 1, 2}}}, {1}, scores) == scores));
  BOOST_TEST((scores_after_rules({.min_length = 3, .eos_id = 1, .stop_ids = {2}}, {0, 0}, scores) ==
              Scores{2, no, no, -4}));
  BOOST_TEST((scores_after_rules({.min_length = 2, .eos_id = 1}, {0, 0}, scores) == scores));
  BOOST_TEST((scores_after_rules({.min_new = 2, .eos_id = 1}, {0, 0, 0}, scores, 2) ==
              Scores{2, no, 4, -4}));
  BOOST_TEST((scores_after_rules({.min_new = 2, .eos_id = 1}, {0, 0, 0, 0}, scores, 2) == scores));
  BOOST_TEST((scores_after_rules({.forced_bos_id = 3}, {0}, scores) == Scores{no, no, no, 0}));
  BOOST_TEST((scores_after_rules({.forced_bos_id = 3}, {0, 0}, scores) == scores));
  BOOST_TEST((scores_after_rules({.max_length = 4, .forced_eos_id = 3}, {0, 0, 0}, scores) ==
              Scores{no, no, no, 0}));
  BOOST_TEST((scores_after_rules({.max_new = 2, .forced_eos_id = 3}, {0, 0}, scores) ==
              Scores{no, no, no, 0}));
  BOOST_TEST((scores_after_rules({.forced = {{2, 1}}}, {0, 3}, scores) == Scores{no, 0, no, no}));
  BOOST_TEST(
      (scores_after_rules({.bad_first_token_ids = {2}}, {0}, scores) == Scores{2, -2, no, -4}));
  // The rule for the first generated id applies to the first id after the forced ids.
  BOOST_TEST((scores_after_rules({.forced = {{1, 1}, {2, 1}}, .bad_first_token_ids = {2}},
                                 {0, 1, 1}, scores) == Scores{2, -2, no, -4}));
  // The order is: repetition penalty, forbidden ids, forced ids.
  BOOST_TEST(
      (scores_after_rules({.forced = {{2, 2}}, .repetition_penalty = 2, .bad_token_ids = {2}},
                          {2, 2}, scores) == Scores{no, no, 0, no}));
}

BOOST_AUTO_TEST_CASE(biases_and_penalties_match_the_definitions_of_openai) {
  const double no = kForbidden;
  using Scores = std::vector<double>;
  const Scores scores = {2, -2, 4, -4};
  BOOST_TEST((scores_after_rules({.logit_bias = {{0, -1.5}, {3, 8}}}, {0}, scores) ==
              Scores{0.5, -2, 4, 4}));
  // Among the new ids, which follow the first two, 1 occurs twice and 2 once.
  BOOST_TEST((scores_after_rules({.frequency_penalty = 0.5}, {0, 2, 1, 2, 1}, scores, 2) ==
              Scores{2, -3, 3.5, -4}));
  BOOST_TEST((scores_after_rules({.presence_penalty = -1}, {0, 2, 1, 2, 1}, scores, 2) ==
              Scores{2, -1, 5, -4}));
  // They precede the other rules.
  BOOST_TEST((scores_after_rules({.logit_bias = {{1, 4}, {2, 100}},
                                  .presence_penalty = 1,
                                  .repetition_penalty = 2,
                                  .bad_token_ids = {2}},
                                 {1}, scores, 0) == Scores{2, 0.5, no, -4}));
}

BOOST_AUTO_TEST_CASE(errors_name_invalid_options) {
  const auto check = [](const SamplingOptions& options, const std::string& message) {
    BOOST_CHECK_EXCEPTION(options.check(), ArgumentError, [&](const Error& e) {
      return std::string(e.what()).find(message) != std::string::npos;
    });
  };
  check({.temperature = 0}, "temperature must be positive, not 0");
  check({.top_k = -1}, "top_k must be 0 (all) or more, not -1");
  check({.top_p = 1.5}, "top_p must be in (0, 1], not 1.5");
  check({.min_p = -0.5}, "min_p must be in [0, 1], not -0.5");
}

}  // namespace

BOOST_AUTO_TEST_SUITE_END()
}  // namespace weft
